"""``osrc cancel``: end jobs."""

from __future__ import annotations

import click

from .. import exit_codes
from ..completing import complete_job
from ..following import cancel as ask
from ..following import terminal
from ..looking import named
from ..options import Command, Globals
from ..other_ids import ask_its_own, is_other, kind_of
from ..output import answer, answer_json
from ..reach import Reach
from ..render.plain import one_line


@click.command(cls=Command)
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_job)
@click.option("--now", is_flag=True, help="Do not leave them time to clean up.")
@click.pass_context
def cancel(context: click.Context, /, ids: tuple[str, ...], now: bool) -> int:
    """End jobs and every process they started. Harmless for a job that has ended.

    Alone, ID may be that of a loop, a question, or a group of jobs. Returns once the request is recorded; osrc wait ID
    waits for the end.
    """
    if is_other(ids):
        return ask_its_own(context, "cancel", ids[0], **({} if kind_of(ids[0]) == "loop" else {"now": now}))
    options = context.ensure_object(Globals)
    reach = Reach(options)
    jobs = named(reach, ids)
    if not all(map(terminal, jobs)):
        jobs = ask(reach, [str(job["job_id"]) for job in jobs], at_once=now)
    reach.close()
    if options.json:
        answer_json({"jobs": jobs, "omitted": 0})
        return exit_codes.DONE
    for job in jobs:
        state = str(job.get("state"))
        note = f" ({one_line(str(job['note']), 200)})" if job.get("note") and not terminal(job) else ""
        how = f"had ended: {state}" if terminal(job) and state != "canceled" else f"canceled{note}"
        answer(f"{job['job_id']} {how}")
    return exit_codes.DONE
