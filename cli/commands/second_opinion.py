"""``osrc second-opinion``: a question asked of models of different makers, and what their answers come to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ...messages.vocabulary import Effort
from .. import crewing
from ..errors import CliError
from ..interrupts import heard
from ..opinion_view import View, show
from ..options import Command, Duration, Globals
from ..output import say
from ..place import full_home
from ..reach import Reach
from ..submit import folder_of, word_of
from ..task import read_task

if TYPE_CHECKING:
    from ...actors.panelling import Bench
    from ...lanes.advice.contracts import Contract
    from ...lanes.advice.opinions import Tally

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
@click.pass_obj
@heard()
def second_opinion(options: Globals, /, words: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Ask one question of several models, of different makers, at the same time, and say what stands.

    They are ordinary read-only jobs. Where their answers plainly say the same, that is the answer. Where only one
    keeps the declared --contract, or only one can be used at all (refusals, cut and empty answers never win), that
    one is. Else a stronger model is shown all answers, as data, and decides; who dissents is said.

    Exit code 0: consensus, majority, contract or ruling; 2: only one usable answer, or no ruling was wanted;
    1: no usable answer, or no ruling could be had.
    """
    if flags["judge"] and flags["no_judge"]:
        raise click.UsageError("Give --judge or --no-judge, not both.")
    question = read_task(words, flags["task_file"])
    contract = contract_of(flags["contract"])
    reach = Reach(options)
    try:
        view = opinion(options, reach, question, contract, flags)
    finally:
        reach.close()
    return show(options, view)


def opinion(options: Globals, reach: Reach, question: str, contract: Contract | None, flags: dict[str, Any]) -> View:
    """Return what a question comes to; takes as long as the answers do. Raises CliError, click.UsageError.

    ``flags``: the command's models, panel, judge, no_judge, judge_anyway, effort, cwd and timeout.
    """
    return _Opinion(options, question, contract, flags).run(reach)


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
    """One question on its way through panel, comparison and judge."""

    def __init__(self, options: Globals, question: str, contract: Contract | None, flags: dict[str, Any]) -> None:
        self._options = options
        self._question = question
        self._contract = contract
        self._flags = flags
        self._seat: Bench | None = None
        self._spares: list[crewing.Member] = []
        """Who is asked where somebody of the panel could not answer."""
        self._shared = {key: flags[key] for key in ("effort", "cwd", "timeout")}

    def run(self, reach: Reach) -> View:
        """Ask, compare, and have it decided."""
        from ...lanes.advice.opinions import asked_with, tally  # noqa: PLC0415 - it compares, after all have answered

        members = self._members(asked_with(self._question, self._contract))
        common = crewing.request_of(self._options, "run", "", **self._shared)
        group = crewing.run_group(reach, common, members, len(members))
        jobs = list(group["jobs"])
        answers = [crewing.answer_of(job) for job in jobs]
        while self._spares and sum(map(bool, answers)) < 2:  # a lane may only show that it can't when it is asked
            spare = self._spares.pop(0)
            if not self._options.quiet:
                say(f"one gave no answer: {spare.get('model') or spare['lane']} is asked too")
            more = crewing.run_group(reach, common, [spare], 1)["jobs"]
            members, jobs = [*members, spare], [*jobs, *more]
            answers += [crewing.answer_of(job) for job in more]
        found = tally(self._question, answers, self._contract)
        view = View(str(group["group_id"]), found, jobs, answers)
        if self._needs_judge(found):
            self._adjudicate(reach, view, [str(one.get("model") or one.get("lane")) for one in members])
        elif found.outcome == "open":
            view.outcome = "dissent"
        return view

    def _needs_judge(self, found: Tally) -> bool:
        if self._flags["no_judge"] or found.outcome == "none":
            return False
        return found.outcome == "open" or (self._flags["judge_anyway"] and found.outcome != "contract")

    # --- who is asked

    def _members(self, task: str) -> list[crewing.Member]:
        named = self._flags["models"]
        if named is None:
            return self._advised(task)
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
        return [crewing.member(f"{number}-{part}", task, part) for number, part in enumerate(found, 1)]

    def _advised(self, task: str) -> list[crewing.Member]:
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
        made = [
            crewing.member(f"{number}-{one.word}", task, None if one.model is None else one.word, one.lane)
            for number, one in enumerate(ready, 1)
        ]
        self._spares = made[size:]
        return made[:size]

    def _bench(self) -> Bench:
        if self._seat is None:
            from .. import machine  # noqa: PLC0415 - it loads the whole product

            home = full_home(os.environ, self._options.home)
            self._seat = machine.bench(home, self._question, folder_of(self._flags["cwd"]), self._flags["effort"])
        return self._seat

    # --- the judge

    def _adjudicate(self, reach: Reach, view: View, asked: Sequence[str]) -> None:
        """Have a judge decide. Whatever goes wrong with it, the answers that were given are shown."""
        from ...lanes.advice.opinions import judge_prompt, read_ruling  # noqa: PLC0415 - where they differ

        places = [place for place, _ in enumerate(view.answers) if place not in dict(view.tally.unusable)]
        mark = os.urandom(8).hex()
        if int(mark[0], 16) % 2:
            places.reverse()  # a judge may like what it reads first
        shown = [(place, view.answers[place]) for place in places]
        word, lane = self._judge(asked)
        if word is None and lane is None:
            view.undecided("no model is here that could decide", "name one: --judge M")
            return
        if not self._options.quiet:
            say(
                f"they differ ({view.tally.why}): {word or lane} decides"
                if view.tally.outcome == "open"
                else f"{word or lane} looks too"
            )
        prompt = judge_prompt(self._question, shown, mark, self._contract)
        request = crewing.request_of(self._options, "run", prompt, **{**self._shared, "model": word, "lane": lane})
        try:
            job = crewing.run_job(reach, request)
        except CliError as error:
            view.undecided(f"the judge was refused: {error.message}", error.hint)
            return
        text = crewing.answer_of(job)
        ruling = read_ruling(text, mark, places)
        view.ruled(job, ruling, self._contract)

    def _judge(self, asked: Sequence[str]) -> tuple[str | None, str | None]:
        if self._flags["judge"]:
            return word_of(self._flags["judge"], "--judge", 1024), None
        one = self._bench().judge(asked)
        if one is None:
            return None, None
        return (None if one.model is None else one.word), one.lane
