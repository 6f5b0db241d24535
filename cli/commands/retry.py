"""``osrc retry``: ask an ended job's task anew."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from .. import groups
from ..completing import complete_either
from ..errors import CliError
from ..following import terminal
from ..groups import Group, either
from ..looking import Job
from ..options import Command, Globals, check_options, task_options
from ..output import say
from ..place import open_regular
from ..reach import Reach
from ..submit import job_request
from ..submit_group import submit_group
from .bg import detach_request, follow_request

_LIMIT = 64 * 1024 * 1024
_KEPT = ("lane", "model", "effort", "tier", "cwd", "label")
_WELL = ("done", "done?")
_MEMBERS = ("task", "model", "lane", "effort", "tier", "label", "retries")
"""What a member of a group has of its own."""


@click.command(cls=Command)
@click.argument("job_id", metavar="ID", shell_complete=complete_either)
@click.option("--bg", "background", is_flag=True, help="Detach: print the job's id and return.")
@check_options
@task_options
@click.pass_obj
def retry(options: Globals, /, job_id: str, background: bool, **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Have an ended job's task done anew, as a new job: the same verb, folder and terms, or others that are given.

    What is given replaces what was asked for then: -m another model, --lane another lane (and its own model).
    Files in the folder are as they are now. ID is a job's id, a prefix of one or a label. The label is kept
    (--label L: another), and from then on means the new job; the earlier one is reached by its id.

    Of a group (fanout-...) its members that did not end well are done anew, as a new group.
    """
    if flags["task_file"] is not None:
        raise click.UsageError("The task is that of the job: leave --task-file out.")
    reach = Reach(options)
    jobs, group = either(reach, job_id)
    if group is not None:
        return _group(options, reach, group, flags, background=background)
    job = jobs[0]
    request = request_anew(options, job, flags)
    if not options.quiet:
        say(f"retries {job['job_id']}")
    begin = detach_request if background else follow_request
    return begin(options, reach, request, dry_run=flags["dry_run"])


def _group(options: Globals, reach: Reach, group: Group, flags: dict[str, Any], *, background: bool) -> int:
    from .fanout import accepted, show_planned  # noqa: PLC0415 - most retry one job

    request = group_anew(options, group, flags)
    if not options.quiet:
        say(f"retries {len(request['members'])} of {group['group_id']}")
    reply = submit_group(reach, request, dry_run=flags["dry_run"])
    if reply.get("kind") == "group_planned":
        return show_planned(options, reply)
    return accepted(options, reach, dict(reply["group"]), waits=not background)


def request_anew(options: Globals, job: Job, flags: dict[str, Any]) -> dict[str, Any]:
    """Return the request that asks an ended job's task anew. ``flags``: those of a work command. Raises CliError."""
    if not terminal(job):
        raise CliError("not_finished", f"{job['job_id']} has not ended", f"osrc wait {job['job_id']}")
    kept = _asked(job)
    request = job_request(options, str(kept.get("verb") or "run"), str(kept["task"]), _terms(flags, kept))
    for key in ("skills", "mcp", "continues"):
        if kept.get(key) and key not in request:
            request[key] = kept[key]
    return request | {"retries": str(job["job_id"])}


def group_anew(options: Globals, group: Group, flags: dict[str, Any]) -> dict[str, Any]:
    """Return the request for a new group of those members of an ended one that did not end well. Raises CliError."""
    group_id = str(group["group_id"])
    if not groups.ended(group):
        raise CliError("not_finished", f"{group_id} has not ended", f"osrc fanout wait {group_id}")
    over = [job for job in group["jobs"] if job.get("state") not in _WELL]
    if not over:
        gone = len(group.get("refused") or ()) + int(group["summary"].get("removed") or 0)
        also = f"; {gone} of it were refused or removed, and can't be asked anew" if gone else ""
        raise CliError("nothing_asked", f"every job of {group_id} ended well{also}", "osrc retry JOB does one anew")
    members, common = [], {}
    for job in over:
        common = request_anew(options, job, {**flags, "label": None})
        own = {key: common.pop(key) for key in _MEMBERS if key in common}
        members.append(own | {"label": str(job.get("label") or job["job_id"])})
    if flags["label"]:
        common["label"] = flags["label"]
    return {"common": common, "members": members, "refused": [], "most": group.get("max"), "skip_refused": False}


def _terms(flags: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """Return the flags, with what was asked for then where nothing is said now."""
    moved = flags["lane"] is not None and flags["lane"] != kept.get("lane")
    terms = dict(flags)
    for key in _KEPT:
        if not terms[key] and not (key == "model" and moved) and not (key == "lane" and flags["model"]):
            terms[key] = kept.get(key)
    terms["timeout"] = flags["timeout"] or kept.get("timeout_s")
    terms["job_check"] = flags["job_check"] or kept.get("check")
    terms["job_check_timeout"] = flags["job_check_timeout"] or kept.get("check_timeout_s")
    terms["worktree"] = kept.get("worktree") if flags["worktree"] is None else flags["worktree"]
    terms["priority"] = flags["priority"] or kept.get("priority") or 0
    for key in ("allow_downgrade", "wait_limit"):
        terms[key] = flags[key] or bool(kept.get(key))
    return terms


def _asked(job: Job) -> dict[str, Any]:
    """Return what was asked for, as it is kept in the job's folder."""
    folder = os.path.dirname(str(job.get("log_path") or ""))  # noqa: PTH120 - strings suffice
    try:
        with os.fdopen(open_regular(f"{folder}/meta.json"), "rb") as file:
            value = json.loads(file.read(_LIMIT))
    except (OSError, ValueError, RecursionError):
        value = None
    request = value.get("request") if isinstance(value, dict) else None
    if not isinstance(request, dict) or not isinstance(request.get("task"), str):
        raise CliError("no_result", f"the task of {job.get('job_id')} is not kept", 'ask anew: osrc run "..."')
    return request
