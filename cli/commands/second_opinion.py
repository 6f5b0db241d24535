"""``osrc second-opinion``: a question asked of models of different makers, and what their answers come to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ...messages.vocabulary import Effort
from .. import crewing, looping, loops
from ..errors import CliError
from ..interrupts import heard
from ..opinion_view import staying, verdict_of
from ..options import Command, Duration, Globals
from ..output import say
from ..place import full_home
from ..reach import Reach
from ..render.plain import one_line
from ..submit import folder_of, word_of
from ..task import read_task

if TYPE_CHECKING:
    from ...actors.panelling import Bench
    from ...lanes.advice.contracts import Contract

Seat = dict[str, Any]
"""``messages.loop.Seat`` as plain data."""
_MOST = 7
_SPARES = 2


@click.command("second-opinion", cls=Command)
@click.argument("words", metavar="QUESTION", nargs=-1)
@click.option("-m", "--models", metavar="A,B", help="Who is asked (default: by advice, of different makers).")
@click.option("--panel", metavar="N", type=click.IntRange(2, _MOST), help="How many are asked (default 2; up to 7).")
@click.option("--judge", metavar="M", help="Who decides where they differ (default: the strongest one here).")
@click.option("--no-judge", is_flag=True, help="Decide nothing where they differ: show the answers, exit 2.")
@click.option("--judge-anyway", is_flag=True, help="Have the judge look also where they agree.")
@click.option("--contract", metavar="C", help="What an answer looks like: json, keys:a,b or regex:PATTERN.")
@click.option("--effort", type=click.Choice([word.value for word in Effort]), help="Reasoning effort of all.")
@click.option("--cwd", metavar="DIR", help="Folder that they look at (default: this one).")
@click.option("--timeout", metavar="S", type=Duration(days=30), help="Hard cap for each answer.")
@click.option("--task-file", metavar="F", help="Read the question from a file.")
@click.option("--dry-run", is_flag=True, help="Print who would be asked, and what that costs; ask nobody.")
@click.option("--detach", "--bg", "detached", is_flag=True, help="Print its id and leave it running.")
@click.pass_obj
@heard()
def second_opinion(options: Globals, /, words: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Ask one question of several models, of different makers, at the same time, and say what stands.

    They are ordinary read-only jobs. Where their answers plainly say the same, that is the answer. Where only one
    keeps the declared --contract, or only one can be used at all (refusals, cut and empty answers never win), that
    one is. Else a stronger model is shown all answers, as data, and decides; who dissents is said.

    It goes on when this command is killed: osrc second-opinion resume ID waits for it and prints what stands, and asks
    again whoever gave no answer where nothing did. osrc status lists it, osrc cancel ID ends it.

    Exit code 0: consensus, majority, contract or ruling; 2: only one usable answer, or no ruling was wanted;
    1: no usable answer, or no ruling could be had. With --dry-run 1: the gate or the budget would refuse it.
    """
    if len(words) == 2 and words[0] == "resume":
        if flags["dry_run"]:
            raise click.UsageError("--dry-run is for a new question: leave it out, or leave resume out.")
        return _resume(options, words[1], detached=flags["detached"])
    if words == ("resume",) and flags["task_file"] is None:
        raise click.UsageError("resume needs an ID: osrc second-opinion resume ID (osrc loop list).")
    question = read_task(words, flags["task_file"])
    contract_of(flags["contract"])
    reach = Reach(options)
    asked = _Opinion(options, question, flags)
    if flags["dry_run"]:
        return looping.show_planned(options, asked.planned(reach), *asked.judged_by())
    return staying(options, reach, asked.begun(reach), detached=flags["detached"])


def opinion(
    options: Globals, reach: Reach, question: str, contract: Contract | None, flags: dict[str, Any]
) -> dict[str, Any]:
    """Return what a question comes to; takes as long as the answers do. Raises CliError, click.UsageError.

    ``flags``: the command's models, panel, judge, no_judge, judge_anyway, effort, cwd and timeout.
    """
    given = {**flags, "contract": contract.words if contract is not None else None}
    found = _Opinion(options, question, given).begun(reach)
    return verdict_of(loops.wait_for(reach, str(found["loop_id"]), None, lambda _loop: None))


def planned(
    options: Globals, reach: Reach, question: str, contract: Contract | None, flags: dict[str, Any]
) -> dict[str, Any]:
    """Return ``loop_planned`` for a question that nobody is asked. Raises and takes what ``opinion`` does."""
    given = {**flags, "contract": contract.words if contract is not None else None}
    return _Opinion(options, question, given).planned(reach)


def _resume(options: Globals, token: str, *, detached: bool) -> int:
    """Stay with a question that was asked before; let one that came to nothing go on."""
    reach = Reach(options)
    found = loops.one_loop(reach, token)
    if found["shape"] != "opinion":
        raise CliError("bad_request", f"{found['loop_id']} is a loop, no question", f"osrc loop resume {token}")
    if loops.ended(found) and found["state"] != "success":
        found = loops.resume(reach, str(found["loop_id"]), {})
    return staying(options, reach, found, detached=detached)


def contract_of(words: str | None) -> Contract | None:
    """Return the contract that words name. Raises click.UsageError."""
    from ...lanes.advice.contracts import ContractError, parse_contract  # noqa: PLC0415 - after the words were checked

    if words is None:
        return None
    try:
        return parse_contract(words)
    except ContractError as error:
        raise click.UsageError(f"--contract: {error}") from None


class _Opinion:
    """One question, and who is to be asked."""

    def __init__(self, options: Globals, question: str, flags: dict[str, Any]) -> None:
        self._options = options
        self._question = question
        self._flags = flags
        self._spares = 0
        """So many of the seats, the last ones, are asked where somebody of the panel could not answer."""

    def begun(self, reach: Reach) -> loops.Loop:
        """Have it asked; return it as the loop that it is."""
        reply = self._started(reach, dry_run=False)
        looping.told(self._options, reply)
        return dict(reply["loop"])

    def planned(self, reach: Reach) -> dict[str, Any]:
        """Return how each of them would be asked: ``loop_planned``. Nobody is."""
        return self._started(reach, dry_run=True)

    def judged_by(self) -> tuple[str, ...]:
        """Return what is said of a judge whom nobody named: who it is, is known once the answers are."""
        named = self._flags["judge"] or self._flags["no_judge"]
        when = "in any case" if self._flags["judge_anyway"] else "where they differ"
        return () if named else (f"{when} the strongest model here that was not asked decides",)

    def _started(self, reach: Reach, *, dry_run: bool) -> dict[str, Any]:
        flags = self._flags
        if flags["judge"] and flags["no_judge"]:
            raise click.UsageError("Give --judge or --no-judge, not both.")
        seats = self._seats()
        judging = "never" if flags["no_judge"] else "always" if flags["judge_anyway"] else "differ"
        shared = {key: flags[key] for key in ("effort", "cwd", "timeout")}
        terms = {
            "shape": "opinion",
            "seats": seats,
            "spares": self._spares,
            "contract": flags["contract"],
            "judging": judging,
            "judge": word_of(flags["judge"], "--judge", 1024),
        }
        request = {
            "terms": {key: value for key, value in terms.items() if value is not None},
            "common": crewing.request_of(self._options, "run", self._question, **shared),
        }
        try:
            return loops.start(reach, request, dry_run=dry_run)
        except CliError as error:
            raise CliError(error.code, f"{error.message}; nothing was started", error.hint) from None

    # --- who is asked

    def _seats(self) -> list[Seat]:
        named = self._flags["models"]
        if named is None:
            return self._advised()
        found = [part.strip() for part in named.split(",") if part.strip()]
        for part in found:
            word_of(part, "-m", 1024)
        if len(found) < 2 or len(found) > _MOST:
            raise click.UsageError(f"-m names {len(found)} models; 2 to {_MOST} are asked, for example -m opus,sol.")
        if len({part.lower() for part in found}) < len(found):
            raise click.UsageError("-m names one model twice: it would agree with itself.")
        size = self._flags["panel"]
        if size is not None and size != len(found):
            raise click.UsageError(f"--panel {size} and the {len(found)} models of -m contradict each other.")
        from ...lanes.advice.panel import maker_of  # noqa: PLC0415 - beside its only use

        if len({maker_of(part) for part in found}) == 1 and not self._options.quiet:
            say("note: they are all of one maker, and may be wrong alike")
        return [_seat(f"{number}-{part}", part) for number, part in enumerate(found, 1)]

    def _advised(self) -> list[Seat]:
        size = self._flags["panel"] or 2
        ready = self._bench().panel(size + _SPARES)
        chosen = ready[:size]
        if len(chosen) < 2:
            have = f"only {chosen[0].lane} is ready here" if chosen else "no lane whose models are known is ready here"
            raise CliError(
                "lane_not_ready", f"a second opinion needs two makers: {have}", "name two: -m A,B (osrc models)"
            )
        if len(chosen) < size and not self._options.quiet:
            say(f"note: {len(chosen)} are asked, not {size}: no more makers are ready here (osrc lanes)")
        self._spares = len(ready) - len(chosen)
        return [
            _seat(f"{number}-{one.word}", None if one.model is None else one.word, one.lane)
            for number, one in enumerate(ready, 1)
        ]

    def _bench(self) -> Bench:
        from .. import machine  # noqa: PLC0415 - it loads the whole product

        home = full_home(os.environ, self._options.home)
        return machine.bench(home, self._question, folder_of(self._flags["cwd"]), self._flags["effort"])


def _seat(label: str, word: str | None, lane: str | None = None) -> Seat:
    """Return one who is asked: what it is called, and by whom the answer is given."""
    found = {"label": one_line(label, 78) or "member", "model": word, "lane": lane}
    return {key: value for key, value in found.items() if value is not None}
