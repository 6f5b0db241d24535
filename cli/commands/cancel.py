"""``osrc cancel``: end jobs."""

from __future__ import annotations

import click

from ...messages.entity_ids import kind_of
from .. import exit_codes, groups
from ..completing import complete_either
from ..errors import CliError
from ..following import cancel as ask
from ..following import terminal
from ..groups import Group
from ..id_routing import ask_its_own, is_other
from ..looking import Job, named
from ..options import Command, Globals
from ..output import answer, answer_json
from ..reach import Reach
from ..render.group import counts
from ..render.plain import one_line


@click.command(cls=Command)
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_either)
@click.option("--now", is_flag=True, help="Do not leave them time to clean up.")
@click.pass_context
def cancel(context: click.Context, /, ids: tuple[str, ...], now: bool) -> int:
    """End jobs and every process they started. Harmless for a job that has ended.

    Of a group (fanout-...) every member is ended; alone, ID may also be that of a loop or a question. Returns once the
    request is recorded; osrc wait ID waits for the end.
    """
    if any(kind_of(word) == "loop" for word in ids) and is_other(ids):
        return ask_its_own(context, "cancel", ids[0])
    options = context.ensure_object(Globals)
    reach = Reach(options)
    jobs, found = _meant(reach, ids)
    if not all(map(terminal, jobs)):
        jobs = ask(reach, [str(job["job_id"]) for job in jobs], at_once=now)
    ended = [groups.cancel(reach, group, now=now) for group in found]
    reach.close()
    if options.json:
        answer_json({"jobs": jobs, "omitted": 0} | ({"groups": ended} if ended else {}))
        return exit_codes.DONE
    for group in ended:
        answer(f"{group['group_id']} {group['state']}: {counts(group)}")
    for job in jobs:
        state = str(job.get("state"))
        note = f" ({one_line(str(job['note']), 200)})" if job.get("note") and not terminal(job) else ""
        how = f"had ended: {state}" if terminal(job) and state != "canceled" else f"canceled{note}"
        answer(f"{job['job_id']} {how}")
    return exit_codes.DONE


def _meant(reach: Reach, ids: tuple[str, ...]) -> tuple[list[Job], list[Group]]:
    """Return the jobs and the groups that words mean."""
    if not any(kind_of(word) == "group" for word in ids):
        try:
            return named(reach, ids), []
        except CliError as error:
            if error.code != "no_such_job":
                raise
    jobs: list[Job] = []
    found: list[Group] = []
    for word in ids:
        some, group = groups.either(reach, word)
        jobs += some
        found += [group] if group is not None else []
    return jobs, found
