"""``osrc retry``: ask an ended job's task anew."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from ..completing import complete_job
from ..errors import CliError
from ..following import terminal
from ..looking import Job, named
from ..options import Command, Globals, check_options, task_options
from ..output import say
from ..place import open_regular
from ..reach import Reach
from ..submit import job_request, submit
from .bg import detach_request, show_plan

_LIMIT = 64 * 1024 * 1024
_KEPT = ("lane", "model", "effort", "tier", "cwd", "label")


@click.command(cls=Command)
@click.argument("job_id", metavar="ID", shell_complete=complete_job)
@click.option("--bg", "background", is_flag=True, help="Detach: print the job's id and return.")
@check_options
@task_options
@click.pass_obj
def retry(options: Globals, /, job_id: str, background: bool, **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Have an ended job's task done anew, as a new job: the same verb, folder and terms, or others that are given.

    What is given replaces what was asked for then: -m another model, --lane another lane (and its own model).
    Files in the folder are as they are now. ID is a job's id, a prefix of one or a label.
    """
    if flags["task_file"] is not None:
        raise click.UsageError("The task is that of the job: leave --task-file out.")
    reach = Reach(options)
    job = named(reach, (job_id,))[0]
    if not terminal(job):
        raise CliError("not_finished", f"{job['job_id']} has not ended", f"osrc wait {job['job_id']}")
    kept = _asked(job)
    request = job_request(options, str(kept.get("verb") or "run"), str(kept["task"]), _terms(flags, kept))
    for key in ("skills", "mcp", "continues"):
        if kept.get(key) and key not in request:
            request[key] = kept[key]
    if not options.quiet:
        say(f"retries {job['job_id']}")
    if background:
        return detach_request(options, reach, request, dry_run=flags["dry_run"])
    reply = submit(reach, request, dry_run=flags["dry_run"])
    if reply.get("kind") == "planned":
        return show_plan(options, reply)
    from ..following import run_to_end  # noqa: PLC0415 - not needed to detach

    return run_to_end(reach, str(reply["job_id"]), reply.get("plan") or {})


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
