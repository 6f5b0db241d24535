"""``osrc continue``: go on with the conversation of an earlier job, or of an ended session."""

from __future__ import annotations

from typing import Any

import click

from ..errors import CliError
from ..looking import named, newest
from ..options import Command, Globals, check_options, task_options
from ..output import say
from ..place import current_folder
from ..reach import Reach
from ..submit import job_request
from ..task import read_task
from .bg import detach_request, follow_request

_RECENT = 200
"""So many jobs back the last conversation of this folder is looked for."""


@click.command("continue", cls=Command)
@click.argument("words", metavar="[JOB|SESSION] TASK", nargs=-1)
@click.option("--bg", "background", is_flag=True, help="Detach: print the job's id and return.")
@check_options
@task_options
@click.pass_obj
def again(options: Globals, /, words: tuple[str, ...], background: bool, **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Go on with the conversation of an ended job: the same lane, folder and verb, what was said still known.

    JOB is an id, a prefix of one or a label; without it, the newest job of this folder that can be
    continued. It becomes a new job, whose object names the earlier one (continues). The label is kept
    (--label L: another), and from then on means the new job; the earlier one is reached by its id.

    SESSION is the name or id of a session that has ended. Its conversation goes on in a job that only reads: a job
    can't ask, as the session did. osrc session relaunch goes on in it live; one that runs takes osrc session send.

    TASK is one argument in quotes, - for stdin, or --task-file F. Text after -- is never an option.
    """
    most = 1 if flags["task_file"] is not None else 2
    if len(words) > most:
        raise click.UsageError('Give at most a job and a task in quotes: osrc continue JOB "...".')
    token, rest = (words[0], words[1:]) if len(words) == most else (None, words)
    task = read_task(rest, flags["task_file"])
    reach = Reach(options)
    job = conversation(reach, token) if token is not None else _last(reach, flags["cwd"])
    if flags["cwd"] is not None and token is not None:
        raise click.UsageError("A conversation goes on in the folder of its job: leave --cwd out.")
    flags["cwd"] = str(job.get("cwd"))
    flags["lane"] = flags["lane"] or str(job.get("lane"))
    flags["label"] = flags["label"] or kept_label(job)
    earlier = str(job.get("job_id") or job["session_id"])
    request = job_request(options, str(job.get("verb") or "run"), task, flags) | {"continues": earlier}
    if not options.quiet:
        live = "" if "job_id" in job else f", only reading (osrc session relaunch {earlier} goes on in it live)"
        say(f"continues {earlier}{live}")
    begin = detach_request if background else follow_request
    return begin(options, reach, request, dry_run=flags["dry_run"])


def conversation(reach: Reach, token: str) -> dict[str, Any]:
    """Return the job, or else the session, that a word means."""
    try:
        return named(reach, (token,))[0]
    except CliError as error:
        if error.code != "no_such_job":
            raise
        from ..sessions import is_named  # noqa: PLC0415 - most go on with a job
        from ..sessions import named as named_session  # noqa: PLC0415 - as above

        if not is_named(reach, token):
            raise
        return named_session(reach, token)


def kept_label(earlier: dict[str, Any]) -> str | None:
    """Return the label of the job that is gone on with; a session's is a remark and no name of a job."""
    label = earlier.get("label") if "job_id" in earlier else None
    return label if isinstance(label, str) and label else None


def _asked_in(job: dict[str, Any]) -> str:
    """Return the folder that a job was asked for in: beside its own work tree, where it has one."""
    cwd, tree = str(job.get("cwd")), str(job.get("worktree") or "")
    return tree.partition("/.outsourcerer/")[0] + cwd[len(tree) :] if tree and cwd.startswith(tree) else cwd


def _last(reach: Reach, given: str | None) -> dict[str, Any]:
    """Return the newest ended job of the folder that named a conversation."""
    folder = given or current_folder()
    jobs, _omitted = newest(reach, state=None, limit=_RECENT)
    for job in jobs:
        if _asked_in(job) == folder and job.get("conversation") and job.get("ended") is not None:
            return job
    raise CliError("no_such_job", f"no job of {folder} can be continued", "osrc status --all; osrc continue JOB TASK")
