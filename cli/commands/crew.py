"""``osrc crew``: many jobs edit at once; what keeps a check green is brought together, in order."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from .. import crewing, exit_codes, groups
from ..errors import CliError, from_refusal
from ..fanout_sources import members, refuse_unusable
from ..groups import Group
from ..interrupts import LostTerminalError, heard
from ..options import Command, Duration, Globals, task_options
from ..output import answer, answer_json, flush, say
from ..reach import Reach
from ..render.plain import one_line
from ..submit import environment, job_request
from ..submit_group import new_group_id, submit_group
from .fanout import TASKS, TaskGroup, member_options, shared_task, show_planned

if TYPE_CHECKING:
    from ...actors.crew_run import Crew

CHECK_S = 300.0
_MOST = 1000
_SUMMARY = 72


class _Crew(TaskGroup):
    """The same words as a fan-out's, with commands of its own."""

    others = "resume|status GID"


@click.group(cls=_Crew, invoke_without_command=True)
@click.option("--check", metavar="CMD", help="The command whose exit status says whether the work is good.")
@click.option("--check-timeout", type=Duration(days=1), default=CHECK_S, metavar="S", help="Its time (300 s).")
@click.option("--red", is_flag=True, help="The check may be red before: a member is to make it green.")
@click.option("--may-change-check", is_flag=True, help="Keep also work that changes what the check consists of.")
@click.option("--integrate/--no-integrate", default=True, help="Move your branch at the end (default), or leave it.")
@member_options
@click.option("--verb", type=click.Choice(("edit", "yolo")), default="edit", help="What members may do (edit).")
@task_options
@click.pass_context
def crew(context: click.Context, /, **flags: Any) -> int | None:  # noqa: ANN401 - click's values
    """Have several jobs change one repository at once, and keep what keeps a check green.

    The check runs first on the commit that all begin at, in a work tree of its own: it is to be green there (--red: it
    need not). Each member works in its own work tree. When all have ended, the work of each is put on top of what was
    kept so far, as one commit, in the order of the members, and the check is run: green keeps it, anything else does
    not. At the end your branch is moved forward to what was kept; never in another way.

    The crew's id is on stdout. Exit code 0 where all work was kept, and your branch has it; 3 where the check is red,
    or can't be run, before anybody began.
    """
    options = context.ensure_object(Globals)
    if context.invoked_subcommand is not None:
        return None
    if not flags["check"] or not flags["check"].strip():
        raise click.UsageError("--check CMD is what a crew is for; without one: osrc fanout --worktree --verb edit.")
    if flags["worktree"] is False:
        raise click.UsageError("A crew's members work in work trees of their own: --no-worktree contradicts that.")
    if flags["most"] is not None and not 1 <= flags["most"] <= _MOST:
        raise click.UsageError(f"--max is from 1 to {_MOST}.")
    return _start(options, flags, context.meta.get(TASKS, ()))


@heard()
def _start(options: Globals, flags: dict[str, Any], tasks: tuple[str, ...]) -> int:
    lane_given = flags["lane"] is not None or options.provider is not None or flags["trust_lane"] is not None
    made, bad = members({**flags, "lane_given": lane_given}, tasks, shared_task(flags))
    if bad:
        raise refuse_unusable(bad, 0)
    common = job_request(options, flags["verb"], "", {**flags, "worktree": True})
    del common["task"]
    reach = Reach(options)
    if flags["dry_run"]:
        request = {"common": common, "members": made, "refused": [], "most": flags["most"], "skip_refused": False}
        return show_planned(options, submit_group(reach, request, dry_run=True))
    found = begin(reach, common, made, flags)
    if not options.json:
        answer(found.folder.name)
        flush()
    return _finish(options, reach, found)


def begin(reach: Reach, common: dict[str, Any], made: list[dict[str, Any]], flags: dict[str, Any]) -> Crew:
    """Return a crew whose jobs were taken, once its check was seen on the base. Raises CliError.

    ``common`` and ``made`` are the jobs, as ``crewing.take_group`` has them; ``flags`` the command's check,
    check_timeout, red, may_change_check, integrate and most.
    """
    group_id = new_group_id()
    found = _begun(reach, group_id, common, flags, made)
    common["environment"] = environment(OSRC_WORKTREE_BASE=found.kept["base"])  # all of them begin where the crew does
    try:
        crewing.take_group(reach, common, made, flags["most"], group_id)
    except CliError:
        _forget(found)
        raise
    return found


def _begun(
    reach: Reach, group_id: str, common: dict[str, Any], flags: dict[str, Any], made: list[dict[str, Any]]
) -> Crew:
    """Return a crew whose check was seen on the base. Raises CliError where it can't begin."""
    from ...actors.crew_run import Crew as Made  # noqa: PLC0415 - it loads the whole product
    from ...messages.refusals import Refused  # noqa: PLC0415 - as above

    reach.channel()  # it makes the state home
    terms = {"check": flags["check"], "check_timeout_s": flags["check_timeout"], "red": flags["red"]}
    terms |= {"may_change_check": flags["may_change_check"], "integrate": flags["integrate"]}
    terms["summaries"] = {one["label"]: _summary(one) for one in made}
    found = Made.plan(groups.folder_for(reach, group_id, None), common["cwd"], terms)
    if isinstance(found, Refused):
        raise from_refusal(found.model_dump())
    if not reach.options.quiet:
        say(f"the check on {found.kept['base'][:12]} first: {one_line(flags['check'], 200)}")
    try:
        refused = found.baseline(os.environ)
    except (KeyboardInterrupt, LostTerminalError):  # nobody was told its id: nothing could go on with it
        found.stop_baseline()
        _forget(found)
        raise
    if refused is not None:
        _forget(found)
        raise from_refusal(refused.model_dump())
    if not reach.options.quiet:
        say(f"the check {found.kept['baseline']['words']} there ({found.kept['baseline']['seconds']:.0f} s)")
    return found


def _summary(one: Mapping[str, Any]) -> str:
    """Return the line by which a member's commit is known."""
    first = next((line.strip("# ") for line in str(one["task"]).split("\n") if line.strip("# ")), "")
    return one_line(f"{one['label']}: {first}", _SUMMARY)


def _forget(found: Crew) -> None:
    """Take away what a crew that has not begun left."""
    found.close()
    shutil.rmtree(found.folder, ignore_errors=True)


# --- one that there is


@crew.command("resume", cls=Command)
@click.argument("group_id", metavar="GID")
@click.pass_obj
def resume(options: Globals, group_id: str) -> int:
    """Wait for a crew's members, then bring together what was not yet. Nothing is judged twice."""
    reach = Reach(options)
    return _finish(options, reach, known(reach, group_id))


@crew.command("status", cls=Command)
@click.argument("group_id", metavar="GID")
@click.pass_obj
def status(options: Globals, group_id: str) -> None:
    """What became of each member's work so far. Nothing is started for it."""
    reach = Reach(options)
    found = known(reach, group_id)
    _show(options, found, groups.fresh(reach, groups.one_group(reach, found.folder.name)))


def known(reach: Reach, word: str) -> Crew:
    """Return the crew that an id, a prefix of it or a label names. Raises CliError."""
    from ...actors.crew_run import Crew as Made  # noqa: PLC0415 - as above

    name = str(groups.one_group(reach, word)["group_id"])
    found = Made.load(groups.folder_for(reach, name, None))
    if found is None:
        raise CliError("no_such_group", f"{name} is no crew: it has no check", f"osrc fanout status {name}")
    return found


@heard()
def _finish(options: Globals, reach: Reach, found: Crew) -> int:
    try:
        found, group = finish(options, reach, found)
    finally:
        reach.close()
    _show(options, found, group)
    return _exit_code(found, group)


def finish(options: Globals, reach: Reach, found: Crew) -> tuple[Crew, Group]:
    """Wait for a crew's members, bring their work together and home; return how it is then. Raises CliError."""
    from ...actors.crew_run import Crew as Made  # noqa: PLC0415 - as above
    from ...actors.crew_run import alone, words_of  # noqa: PLC0415 - as above

    group_id = found.folder.name
    try:
        group = crewing.await_group(reach, group_id, cancels=False)
        with alone(found.folder) as mine:
            if not mine:
                why = f"another command is bringing {group_id} together just now"
                raise CliError("supervisor_busy", why, f"osrc crew status {group_id}")
            found = Made.load(os.fspath(found.folder)) or found  # as whoever held the lock left it
            for row in found.kept["members"] if not options.quiet else ():
                say(one_line(words_of(row), 400))
            judged = crewing.candidates(group, found.kept.get("summaries") or {})
            before = len(found.kept["members"])
            found.integrate(judged, os.environ, _nothing if options.quiet else _said)
            crewing.tell_outcomes(reach, ((row["job_id"], row["check"]) for row in found.kept["members"][before:]))
            if found.kept["integrate"] and found.kept["why"] is None:
                found.land()
            found.close()
    except KeyboardInterrupt:
        say(f"what runs goes on; osrc crew resume {group_id} brings it together, osrc fanout cancel {group_id} ends it")
        raise
    return found, group


def _said(line: str) -> None:
    say(one_line(line, 400))


def _nothing(_line: str) -> None:
    return


def facts(found: Crew, group: Group) -> dict[str, Any]:
    """Return what became of a crew so far, as ``--json`` has it."""
    shown = ("group_id", "check", "base", "home_branch", "branch", "head", "baseline", "members", "landed", "why")
    return {**{key: found.kept.get(key) for key in shown}, "summary": group["summary"]}


def _show(options: Globals, found: Crew, group: Group) -> None:
    kept = found.kept
    if options.json:
        answer_json(facts(found, group))
        return
    rows = kept["members"]
    good = sum(row["verdict"] == "kept" for row in rows)
    if options.quiet:
        return
    for row in rows:
        for side in row["conflicts"]:
            say(f"--- {row['label']} and what is here, in {one_line(side['path'], 200)}")
            say(f"here:\n{side['ours'][:2000]}\n{row['label']}:\n{side['theirs'][:2000]}")
    say(f"{good} of {len(group['jobs'])} kept{_home(kept)}")
    say(f"the work trees stay: osrc cleanup {kept['group_id']} removes what was merged")


def _home(kept: Mapping[str, Any]) -> str:
    if kept["landed"] is not None:
        return f"; {kept['home_branch']} is at {kept['landed'][:12]}"
    if kept["head"] == kept["base"]:
        return f"; {kept['home_branch']} stays where it is" + (f": {kept['why']}" if kept["why"] else "")
    why = f" ({kept['why']})" if kept["why"] else ""
    return f", on {kept['branch']}{why}: git merge {kept['branch']}"


def _exit_code(found: Crew, group: Group) -> int:
    kept = found.kept
    codes = [exit_codes.of_job(job) for job in group["jobs"]]
    codes += [exit_codes.REFUSED for row in kept["members"] if row["verdict"] not in ("kept", "nothing", "not_done")]
    home = kept["landed"] is not None or kept["head"] == kept["base"] or not kept["integrate"]
    worst = exit_codes.gravest([code for code in codes if code != exit_codes.UNVERIFIED] or [exit_codes.DONE])
    return worst or (exit_codes.DONE if home and kept["why"] is None else exit_codes.REFUSED)
