"""What commands that are made of several jobs share: a group taken and waited for, one job run to its end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import groups
from .errors import CliError
from .following import cancel, follow, read_result, terminal
from .groups import Group
from .interrupts import LostTerminalError
from .looking import Job
from .options import Globals
from .output import say
from .reach import Reach
from .render.group import GroupDisplay
from .render.plain import one_line
from .render.plan import disclosure
from .submit import job_request, submit
from .submit_group import submit_group

if TYPE_CHECKING:
    from ..actors.crew_run import Candidate

Member = dict[str, Any]

ANSWER_LIMIT = 256 * 1024
"""Bytes of an answer that are compared and shown to a judge; the job's own file has all."""

_FLAGS: dict[str, Any] = {
    "model": None,
    "lane": None,
    "effort": None,
    "tier": None,
    "cwd": None,
    "timeout": None,
    "label": None,
    "allow_downgrade": False,
    "worktree": False,
    "after": (),
    "priority": 0,
    "wait_limit": False,
    "grants": (),
    "no_advise": True,
    "trust_lane": None,
}


def request_of(options: Globals, verb: str, task: str, **flags: Any) -> dict[str, Any]:  # noqa: ANN401 - values of task_options
    """Return a job's request body with what is left out standing at its default."""
    return job_request(options, verb, task, {**_FLAGS, **flags})


def member(label: str, task: str, word: str | None, lane: str | None = None) -> Member:
    """Return one member of a group: what it is called, what it is told, and by whom it is done."""
    found = {"label": one_line(label, 78) or "member", "task": task, "model": word, "lane": lane}
    return {key: value for key, value in found.items() if value is not None}


def take_group(
    reach: Reach, common: dict[str, Any], members: Sequence[Member], most: int | None, group_id: str | None = None
) -> Group:
    """Have a group taken, or nothing of it; by the id that is given, if one is. Raises CliError."""
    shared = {key: value for key, value in common.items() if key != "task"}
    request: dict[str, Any] = {"common": shared, "members": list(members), "refused": []}
    request |= {"most": most, "skip_refused": False} | ({"group_id": group_id} if group_id else {})
    return dict(submit_group(reach, request)["group"])


def await_group(reach: Reach, group_id: str, *, cancels: bool) -> Group:
    """Return a group once all its members have ended. ``cancels``: Ctrl-C ends them; else they go on."""
    options = reach.options
    display = GroupDisplay(quiet=options.quiet or options.json)
    try:
        return groups.wait_for(reach, group_id, None, display.show)
    except KeyboardInterrupt:
        display.clear()
        if cancels:
            reach.drop()
            with contextlib.suppress(CliError):
                reach.request({"kind": "fanout.cancel", "group_id": group_id, "at_once": False})
        raise
    finally:
        display.clear()


def run_job(reach: Reach, request: dict[str, Any]) -> Job:
    """Have one job done and return it when it has ended. Ctrl-C cancels it. Raises CliError."""
    options = reach.options
    reply = submit(reach, request)
    job_id = str(reply["job_id"])
    if leaves := disclosure(reply.get("plan") or {}, short=True):
        say(leaves)
    job: Job = {}
    try:
        for jobs in follow(reach, [job_id], every_s=0.5 if reach.in_process else None):
            job = jobs[0] if jobs else job
    except (KeyboardInterrupt, LostTerminalError):  # whoever would read its answer is gone
        cancel(reach, [job_id], at_once=False)
        raise
    if not terminal(job):
        raise CliError("not_finished", f"job {job_id} may still be ending", f"osrc status {job_id}")
    if not options.quiet:
        say(f"job {job_id} ended {job.get('state')}")
    return job


def tell_outcomes(reach: Reach, checks: Iterable[tuple[str, Mapping[str, Any] | None]]) -> None:
    """Have it kept what a check said of each job's work, for advice: job and check (``crew_run.told``).

    A check that said nothing of the work (it ran out of time, could not run) is no outcome. Never raises: the work
    itself does not hang on it.
    """
    for job_id, check in checks:
        word = None if check is None else check.get("verdict")
        if word in ("passed", "failed"):
            with contextlib.suppress(CliError):
                reach.request({"kind": "job.tell_outcome", "job": job_id, "outcome": word, "source": "check"})


def candidates(group: Mapping[str, Any], summaries: Mapping[str, str]) -> list[Candidate]:
    """Return the members of a group as whoever judges their work sees them. ``summaries``: label → a line."""
    from ..actors.crew_run import Candidate as Made  # noqa: PLC0415 - it loads the whole product

    return [
        Made(
            job_id=str(job["job_id"]),
            label=str(job.get("label") or job["job_id"]),
            state=str(job.get("state")),
            worktree=job.get("worktree"),
            branch=job.get("branch"),
            summary=str(summaries.get(str(job.get("label"))) or job.get("label") or job["job_id"]),
        )
        for job in group["jobs"]
    ]


def answer_of(job: Mapping[str, Any]) -> str:
    """Return what a job that did its work said; nothing where it did not."""
    if job.get("state") not in ("done", "done?"):
        return ""
    text = read_result(job)
    return "" if text is None else text[:ANSWER_LIMIT].decode("utf-8", "replace").strip()


def model_of(job: Mapping[str, Any]) -> str:
    """Return who a job was done by, in words."""
    model = job.get("model_observed") or job.get("model") or "its default model"
    return one_line(f"{model} on {job.get('lane')}", 100)
