"""``osrc status``: the jobs and their states. The hottest path there is."""

from __future__ import annotations

import sys
from typing import Any

import click

from ...messages.vocabulary import JobState
from .. import exit_codes
from ..completing import complete_job
from ..id_routing import ask_its_own, is_other
from ..looking import named, newest_and_loops
from ..options import Command, Globals, Whole
from ..output import answer, answer_json, may_colour, output_width, say
from ..reach import Reach
from ..render.plain import one_line
from ..render.table import job_table


@click.command(cls=Command)
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=complete_job)
@click.option("--all", "everything", is_flag=True, help="Every job, not only the newest.")
@click.option(
    "--state",
    metavar="STATE",
    type=click.Choice([state.value for state in JobState]),
    help="Only jobs in this state, such as running or failed (osrc help exit-codes lists them).",
)
@click.option("--limit", type=Whole(), metavar="N", help="At most N jobs (default 40; 0: no limit).")
@click.pass_context
def status(
    context: click.Context, /, ids: tuple[str, ...], everything: bool, state: str | None, limit: int | None
) -> int:
    """Jobs and their states, newest first; below them the loops and questions that run.

    An ID is a job's id, a unique prefix of it, or its label; or, alone, that of a loop or of a group of jobs. With
    --json and exactly one ID, the object has the job's own keys beside "jobs".
    """
    if is_other(ids):
        return ask_its_own(context, "status", ids[0])
    options = context.ensure_object(Globals)
    reach = Reach(options)
    omitted, loops = 0, list[dict[str, Any]]()
    if ids:
        jobs = named(reach, ids)
        if state is not None:
            jobs = [job for job in jobs if job.get("state") == state]
    else:
        jobs, omitted, loops = newest_and_loops(reach, state=state, limit=_limit(limit, everything=everything))
    if options.json:
        alone = jobs[0] if len(ids) == 1 and len(jobs) == 1 else {}
        answer_json({**alone, "jobs": jobs, "omitted": omitted} | ({} if ids else {"loops": loops}))
        return exit_codes.DONE
    if jobs:
        answer("\n".join(job_table(jobs, width=output_width(), colour=may_colour(sys.stdout))), styled=True)
    elif not loops:
        say("no jobs" + (f" in state {state}" if state else ""))
    for one in loops:
        label = f"  {one_line(str(one['label']), 40)}" if one["label"] else ""
        answer(f"{one['loop_id']}  {one['shape']}  {one['state']}{label}")
    if omitted and not options.quiet:
        say(f"{omitted} more; osrc status --all shows them")
    return exit_codes.DONE


def _limit(given: int | None, *, everything: bool) -> int:
    """Return how many jobs to show: the flags, else the setting."""
    if everything and given is None:
        return 0
    if given is not None:
        return given
    from ..preferences import number  # noqa: PLC0415 - kept beside its only use

    return max(int(number("status_max", 40)), 0)
