"""``osrc best-of``: several tries at one task, judged by a check, by a model, or by both."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .. import crewing, exit_codes, groups
from ..errors import CliError, from_refusal
from ..groups import Group
from ..interrupts import heard
from ..options import Command, Duration, Globals, task_options
from ..output import answer, answer_json, say
from ..place import full_home
from ..reach import Reach
from ..render.plain import one_line
from ..submit import environment, folder_of, job_request, word_of
from ..submit_group import new_group_id, submit_group
from ..task import read_task
from .fanout import show_planned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...actors.best_of import Try

_MOST = 7
_CHECK_S = 300.0
_WINS = ("passed", "unchecked")


@click.command("best-of", cls=Command)
@click.argument("words", metavar="N TASK", nargs=-1)
@click.option("--check", metavar="CMD", help="The command whose exit status says whether a try is good.")
@click.option("--check-timeout", type=Duration(days=1), default=_CHECK_S, metavar="S", help="Its time (300 s).")
@click.option("--may-change-check", is_flag=True, help="Also a try that changes what the check consists of may win.")
@click.option("--allow-green", is_flag=True, help="Begin although the check passes already.")
@click.option("--judge", metavar="M", help="The model that chooses among the good ones.")
@click.option("--rubric", metavar="FILE", help="What it judges by (without --judge: the strongest model here does).")
@click.option("--resume", metavar="GID", help="Go on with the judging of tries that were begun before.")
@click.option("--verb", type=click.Choice(("edit", "yolo")), default="edit", help="What the tries may do (edit).")
@task_options
@click.pass_obj
@heard()
def best_of(options: Globals, /, words: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Have one task done N times (2 to 7), each in its own work tree, and name the best.

    -m A,B,C hands the tries to several models in turn. The check runs first on the commit that all begin at, and is to
    fail there (--allow-green: it may pass). A try that fails the --check can't win. Of several that can,
    the --judge chooses, who is shown the changes as data; without one, the smallest change wins. The branch of the
    winner is on stdout; nothing is merged, and the others' work trees stay for a look.

    Exit code 0 where there is a winner, 2 where no judge ruled and the smallest was taken, 1 where none can win, 3
    where the check tells nothing: it passes already, or can't be run.
    """
    reach = Reach(options)
    try:
        if flags["resume"] is not None:
            if words:
                raise click.UsageError("--resume GID goes on with tries that have a task: give none.")
            folder, record = known(reach, flags["resume"])
        else:
            number, task = _words(words, flags)
            given = {**flags, "rubric": _rubric(flags["rubric"])}
            if flags["dry_run"]:
                return _planned(options, reach, _tries(options, reach, number, task, given))
            folder, record = begin(options, reach, number, task, given)
        return _show(options, decide(options, reach, folder, record))
    finally:
        reach.close()


class _Tries(NamedTuple):
    """Tries that nobody was asked for yet."""

    group_id: str
    folder: str
    record: dict[str, Any]
    common: dict[str, Any]
    members: list[crewing.Member]


def begin(options: Globals, reach: Reach, number: int, task: str, flags: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Have ``number`` tries taken; return their folder and record. Raises CliError.

    ``flags``: those of a work command, and check, check_timeout, may_change_check, judge and rubric (its text).
    """
    from ...actors.best_of import keep_tries  # noqa: PLC0415 - it loads the whole product

    group_id, folder, record, common, made = _tries(options, reach, number, task, flags)
    keep_tries(folder, record)  # first: tries that nobody could judge must not run
    if record["check"]:
        _look_at_check(options, folder, record)
    try:
        crewing.take_group(reach, common, made, number, group_id)
    except CliError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if not options.quiet:
        say(f"{group_id}: {number} tries; osrc best-of --resume {group_id} goes on if this command ends")
    return folder, record


def _tries(options: Globals, reach: Reach, number: int, task: str, flags: dict[str, Any]) -> _Tries:
    """Return the tries as they would be taken. Raises CliError."""
    from ...actors.best_of import plan_tries  # noqa: PLC0415 - it loads the whole product
    from ...messages.refusals import Refused  # noqa: PLC0415 - as above

    models = [part.strip() for part in (flags["model"] or "").split(",") if part.strip()] or [None]
    common = job_request(options, flags["verb"], "", {**flags, "model": None, "worktree": True})
    del common["task"]
    reach.channel()  # it makes the state home
    group_id = new_group_id()
    folder = groups.folder_for(reach, group_id, None)
    terms = {key: flags[key] for key in ("check", "judge", "may_change_check", "allow_green")} | {
        "check_timeout_s": flags["check_timeout"]
    }
    judged = bool(flags["judge"] or flags["rubric"])
    terms |= {"rubric": flags["rubric"] or "", "task": task[: 64 * 1024], "judged": judged}
    record = plan_tries(folder, folder_of(flags["cwd"]), terms)
    if isinstance(record, Refused):
        raise from_refusal(record.model_dump())
    made = []
    for place in range(number):
        model = word_of(models[place % len(models)], "-m", 1024)
        made.append(crewing.member(f"try-{place + 1}" + (f"-{model}" if model else ""), task, model))
    common["environment"] = environment(OSRC_WORKTREE_BASE=record["base"])  # all of them begin at one commit
    return _Tries(group_id, folder, record, common, made)


def _look_at_check(options: Globals, folder: str, record: dict[str, Any]) -> None:
    """Run the check where all tries begin, before anything is spent. Raises CliError where it would tell nothing."""
    from ...actors.best_of import begin_check  # noqa: PLC0415 - it loads the whole product

    if not options.quiet:
        say(f"the check on {record['base'][:12]} first: {one_line(str(record['check']), 200)}")
    try:
        refused = begin_check(folder, record, os.environ)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if refused is not None:
        shutil.rmtree(folder, ignore_errors=True)
        raise from_refusal(refused.model_dump())


def _planned(options: Globals, reach: Reach, tries: _Tries) -> int:
    """Print what the tries would be, each with its plan; exit code 1 where one of them would be refused."""
    base, labels = tries.record["base"], [one["label"] for one in tries.members]
    request = {"common": tries.common, "members": tries.members, "refused": [], "skip_refused": False}
    request |= {"most": len(labels), "group_id": tries.group_id}
    reply = submit_group(reach, request, dry_run=True)
    if not options.json:
        answer(f"{len(labels)} tries at {base[:12]}: {', '.join(labels)}")
    return show_planned(options, reply, base=base, tries=labels)


def _words(words: tuple[str, ...], flags: dict[str, Any]) -> tuple[int, str]:
    if not (flags["check"] or flags["judge"] or flags["rubric"]):
        raise click.UsageError("Give --check CMD, --judge M or --rubric FILE: something has to say which is best.")
    if flags["worktree"] is False:
        raise click.UsageError("Tries work in work trees of their own: --no-worktree contradicts that.")
    if not words or not (words[0].isascii() and words[0].isdigit() and 2 <= int(words[0][:4]) <= _MOST):
        raise click.UsageError(f'Say how many tries first, 2 to {_MOST}: osrc best-of 3 --check "make test" "..."')
    return int(words[0]), read_task(words[1:], flags["task_file"])


def _rubric(path: str | None) -> str:
    if path is None:
        return ""
    return read_task((), path)[: 64 * 1024]


def known(reach: Reach, word: str) -> tuple[str, dict[str, Any]]:
    """Return the folder and record of tries that there are. Raises CliError."""
    from ...actors.best_of import load_tries  # noqa: PLC0415 - as above

    name = str(groups.one_group(reach, word)["group_id"])
    folder = groups.folder_for(reach, name, None)
    record = load_tries(folder)
    if record is None:
        raise CliError("no_such_group", f"{name} is no best-of", f"osrc fanout status {name}")
    return folder, record


# --- judging


class Choice:
    """Which of several tries it is, and why."""

    def __init__(self, record: dict[str, Any], group: Group, tries: Sequence[Try]) -> None:
        """Begin with none chosen."""
        self.record = record
        self.group = group
        self.tries = tries
        self.winner: Try | None = None
        self.why = ""
        self.judge: dict[str, Any] | None = None
        self.sure = True
        """False where a judge was to choose, and did not."""

    def made(self, winner: Try | None, why: str) -> Choice:
        """Keep which one it is; return the choice."""
        self.winner, self.why = winner, why
        return self


def decide(options: Globals, reach: Reach, folder: str, record: dict[str, Any]) -> Choice:
    """Wait for all tries, have them judged, and return which one it is. Raises CliError."""
    from ...actors.best_of import least, weigh  # noqa: PLC0415 - as above

    group_id = str(record["group_id"])
    try:
        group = crewing.await_group(reach, group_id, cancels=False)
        members = crewing.candidates(group, {})
        tries = weigh(folder, record, members, os.environ, _nothing if options.quiet else _said)
    except KeyboardInterrupt:
        say(f"the tries go on; osrc best-of --resume {group_id} judges them, osrc fanout cancel {group_id} ends them")
        raise
    crewing.tell_outcomes(reach, ((one.candidate.job_id, one.check) for one in tries))
    good = [one for one in tries if one.verdict in _WINS]
    choice = Choice(record, group, tries)
    if not good:
        return choice.made(None, "no try can win")
    if len(good) == 1 and record.get("check"):
        return choice.made(good[0], "the only one that can win")
    if not record.get("judged"):
        return choice.made(least(good), "the smallest change that passes")
    return _by_judge(options, reach, choice, good)


def _said(line: str) -> None:
    say(one_line(line, 400))


def _nothing(_line: str) -> None:
    return


def _by_judge(options: Globals, reach: Reach, choice: Choice, good: list[Try]) -> Choice:
    from ...actors.best_of import least  # noqa: PLC0415 - as above
    from ...lanes.advice.opinions import read_ruling, rubric_prompt  # noqa: PLC0415 - as above

    record, group = choice.record, choice.group
    mark = os.urandom(8).hex()
    places = list(range(len(good)))
    if int(mark[0], 16) % 2:
        places.reverse()  # a judge may like what it reads first
    said = {str(job["job_id"]): crewing.answer_of(job) for job in group["jobs"]}
    shown = [(place, said.get(good[place].candidate.job_id, ""), good[place].diff) for place in places]
    prompt = rubric_prompt(str(record["task"]), str(record["rubric"]), shown, mark)
    try:
        word, lane = _judge(options, record, group)
        request = crewing.request_of(options, "run", prompt, model=word, lane=lane, cwd=record["cwd"])
        job = crewing.run_job(reach, request)
        ruling = read_ruling(crewing.answer_of(job), mark, places)
        choice.judge = {key: job.get(key) for key in ("job_id", "lane", "state")} | {"model": crewing.model_of(job)}
        why = "it made no ruling" if ruling is None else one_line(ruling.answer, 500)
    except CliError as error:
        ruling, why = None, error.message
    if ruling is not None and ruling.choice == "none":
        return choice.made(None, f"the judge takes none: {why}")
    if ruling is not None and isinstance(ruling.choice, int):
        return choice.made(good[ruling.choice], f"the judge's choice: {why}")
    if not record.get("check"):
        return choice.made(None, f"no judge decided: {why}")
    choice.sure = False
    return choice.made(least(good), f"the smallest change that passes, for no judge decided: {why}")


def _judge(options: Globals, record: dict[str, Any], group: Group) -> tuple[str | None, str | None]:
    if record.get("judge"):
        return word_of(str(record["judge"]), "--judge", 1024), None
    from .. import machine  # noqa: PLC0415 - it loads the whole product

    asked = [str(job.get("model") or job.get("lane")) for job in group["jobs"]]
    home = full_home(os.environ, options.home)
    one = machine.bench(home, str(record["task"]), str(record["cwd"]), None).judge(asked)
    if one is None:
        raise CliError("lane_not_ready", "no model is here that could decide", "name one: --judge M")
    return (None if one.model is None else one.word), one.lane


def facts(choice: Choice) -> dict[str, Any]:
    """Return what became of all tries, as ``--json`` has it."""
    record, winner = choice.record, choice.winner
    named = None if winner is None else _row(winner)
    said = {"group_id": record["group_id"], "base": record["base"], "winner": named, "why": choice.why}
    rows = [_row(one) for one in choice.tries]
    return {**said, "judge": choice.judge, "tries": rows, "summary": choice.group["summary"]}


def _show(options: Globals, choice: Choice) -> int:
    winner, record = choice.winner, choice.record
    branch = None if winner is None else winner.candidate.branch
    if options.json:
        answer_json(facts(choice))
    else:
        if branch is not None:
            answer(branch)
        if not options.quiet:
            label = "" if winner is None else f"{winner.candidate.label}: "
            say(f"{label}{choice.why}")
            say(f"take it: git merge --squash {branch}" if branch else f"look: osrc fanout status {record['group_id']}")
    if winner is None:
        return exit_codes.REFUSED
    return exit_codes.DONE if choice.sure else exit_codes.UNVERIFIED


def _row(one: Try) -> dict[str, Any]:
    who = one.candidate
    return {
        "job_id": who.job_id,
        "label": who.label,
        "state": who.state,
        "branch": who.branch,
        "worktree": who.worktree,
        "verdict": one.verdict,
        "why": one.why,
        "files": one.files,
        "lines": one.lines,
        "check": one.check,
    }
