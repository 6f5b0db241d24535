"""From the words of a work command to one accepted job."""

from __future__ import annotations

import os
import time
from binascii import b2a_base64
from typing import Any

import click

from .errors import CliError, NotSentError, SupervisorLostError, UnconfirmedError
from .options import Globals
from .place import current_folder, sendable_folder
from .reach import Reach
from .sending import agrees, remove_spooled, spool_task

Reply = dict[str, Any]

_LANE_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_.:-")
_LANE_LIMIT = 64
_AGENT = "acp:"
_COMMAND_LIMIT = 500
_CHECK_LIMIT = 10_000
_GONE_S = 10.0
_ATTEMPTS = 9
"""How many supervisors in a row may leave instead of taking a job, over some ten seconds."""


def job_request(options: Globals, verb: str, task: str, flags: dict[str, Any]) -> dict[str, Any]:
    """Return the request body (``messages.job.JobRequest`` as plain data), without a task that must be spooled.

    ``flags`` are the values of ``options.task_options``. Raises click.UsageError for flags that contradict
    each other, CliError for a folder that can't be worked in.
    """
    given = {
        "verb": verb,
        "task": task,
        "model": word_of(flags["model"], "-m", 1024),
        "lane": lane_of(options, flags),
        "effort": flags["effort"],
        "tier": flags["tier"],
        "cwd": folder_of(flags["cwd"]),
        "timeout_s": flags["timeout"],
        **_check(flags),
        "label": word_of(flags["label"], "--label", 80),
        "allow_downgrade": flags["allow_downgrade"] or None,
        "worktree": flags["worktree"],
        "after": [word_of(word, "--after", 128) for word in flags["after"]] or None,
        "priority": flags["priority"] or None,
        "wait_limit": flags["wait_limit"] or None,
        **_grants(flags["grants"]),
        "no_advise": flags.get("no_advise") or None,
        "trust_lane": flags["trust_lane"] is not None or None,
        "cloud_ack": options.cloud_ack or None,
        "environment": environment(),
    }
    return {key: value for key, value in given.items() if value is not None}


def _check(flags: dict[str, Any]) -> dict[str, Any]:
    """Return the job's own check; a command that gives its jobs none (a loop, a crew) has no flag for it."""
    line, bound = flags.get("job_check"), flags.get("job_check_timeout")
    if line is not None and (not line.strip() or "\0" in line or len(line) > _CHECK_LIMIT):
        raise click.UsageError(f"--check is empty, or longer than {_CHECK_LIMIT} characters.")
    if line is None and bound is not None:
        raise click.UsageError("--check-timeout is of a check: give --check CMD too.")
    return {"check": line, "check_timeout_s": bound}


def environment(**also: str) -> str:
    """Return this process's environment, and ``also``, as base64 of NUL-joined ``NAME=value`` bytes."""
    if hasattr(os, "environb"):
        items = list(os.environb.items())
    else:
        items = [(os.fsencode(name), os.fsencode(value)) for name, value in os.environ.items()]
    if also:
        items = [row for row in items if os.fsdecode(row[0]) not in also]
        items += [(os.fsencode(name), os.fsencode(value)) for name, value in also.items()]
    joined = b"\0".join([name + b"=" + value for name, value in items])
    return b2a_base64(joined, newline=False).decode("ascii")


def lane_of(options: Globals, flags: dict[str, Any]) -> str | None:
    """Return the one lane that --lane, --provider and --trust-lane name; case and space around it never count."""
    lane = _as_named(flags["lane"])
    for name, given in (("--provider", options.provider), ("--trust-lane", flags["trust_lane"])):
        if (value := _as_named(given)) is None:
            continue
        if lane is not None and lane != value:
            raise click.UsageError(f"{name} {value} contradicts the lane {lane}.")
        lane = value
    if lane is None:
        return None
    if lane.startswith(_AGENT):  # what follows is a command of the person's own
        return word_of(lane, "--lane", len(_AGENT) + _COMMAND_LIMIT)
    if not (lane[:1].isalpha() and _LANE_CHARACTERS.issuperset(lane) and len(lane) <= _LANE_LIMIT):
        raise CliError("unknown_lane", f"there is no lane {lane[:80]!a}", "osrc lanes")
    return lane


def _as_named(lane: str | None) -> str | None:
    """Return a lane's word as lanes are named; an agent's command keeps its case."""
    if lane is None or lane.startswith(_AGENT):
        return lane
    return lane.strip().lower()


def _grants(words: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the skills and servers of every --with; what is neither is no grant that could be dropped in silence."""
    given: dict[str, list[str]] = {}
    for word in words:
        kind, equals, names = word.partition("=")
        kind, listed = kind.strip().lower(), [name.strip() for name in names.split(",")]
        if kind not in ("skills", "mcp") or not equals or not all(listed):
            raise click.UsageError(f"--with {word!a} is no grant: skills=a,b, skills=all or mcp=x.")
        for name in listed:
            word_of(name, "--with", 200)
        given[kind] = [*given.get(kind, []), *listed]
    return given


def word_of(value: str | None, option: str, limit: int) -> str | None:
    """Return ``value`` if it can be a name at all; whether it is one is the supervisor's to judge."""
    if value is None:
        return None
    if not value:
        raise click.UsageError(f"{option} is empty.")
    if len(value) > limit:
        raise click.UsageError(f"{option} is {len(value)} characters long; at most {limit}.")
    if any(character < " " or character == "\x7f" for character in value):
        raise click.UsageError(f"{option} holds a control character: {value!a}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise click.UsageError(f"{option} is not UTF-8: {value!a}") from None
    return value


def folder_of(given: str | None) -> str:
    """Return the absolute folder to work in."""
    if given is None:
        return current_folder()
    folder = given if given.startswith("/") else os.path.join(current_folder(), given)  # noqa: PTH118 - no pathlib here
    folder = os.path.abspath(folder)  # noqa: PTH100 - as above
    if not os.path.isdir(folder):  # noqa: PTH112 - as above
        raise CliError("bad_cwd", f"--cwd {given!a} is not a folder", "give a folder that exists")
    return sendable_folder(folder)


def submit(reach: Reach, request: dict[str, Any], *, dry_run: bool = False) -> Reply:
    """Send one request; return ``accepted`` or ``planned``. Raises CliError where it was refused.

    A supervisor that leaves and has not taken it is followed by another one, which is asked then. So is
    the one after a supervisor that was killed before it answered: the job's id is chosen here, and one
    that exists already is not made again. While the one that was asked still runs, nobody else is asked.
    """
    task = request["task"]
    if not dry_run:
        # As state.ids makes one, which a path as hot as this does without.
        request["job_id"] = time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + os.urandom(6).hex()
    unsure = False
    for attempt in range(_ATTEMPTS):
        try:
            reach.channel()
        except CliError as error:
            raise _before_asking(error, None if not unsure else request["job_id"]) from None
        try:
            return _submit(reach, request, dry_run=dry_run)
        except UnconfirmedError as error:
            unsure = True
            if attempt == _ATTEMPTS - 1 or not _is_gone(error.pid):
                raise
        except CliError as error:
            if error.code == "consent_needed" and not dry_run and agrees(reach.options, request, error):
                request.pop("task_file", None)
                request |= {"task": task, "cloud_ack": True}
                return _submit(reach, request, dry_run=False)
            not_taken = isinstance(error, NotSentError) or error.code == "stopping"
            if not not_taken or reach.in_process or attempt == _ATTEMPTS - 1:
                raise
        reach.drop()
        time.sleep(min(0.02 * 2**attempt, 2.0))
        request.pop("task_file", None)
        request["task"] = task
    raise AssertionError("unreachable")


def _before_asking(error: CliError, job_id: str | None) -> CliError:
    """Say what became of the job when nobody could be asked; ``job_id`` where somebody was, before."""
    if job_id is not None:
        return CliError(error.code, f"{error.message}; whether job {job_id} was taken is not known", error.hint)
    if error.code.startswith("supervisor_") or error.code == "protocol":
        return CliError(error.code, f"{error.message}; nothing was started", error.hint)
    return error


def _is_gone(pid: int) -> bool:
    """Whether a process has ended, or does soon: a connection ends a moment before its process."""
    from ..state.processes import read_process  # noqa: PLC0415 - only after a lost supervisor

    deadline = time.monotonic() + _GONE_S
    while pid:
        row = read_process(pid)
        if row is None or row.state in ("Z", "X", "x"):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return False


def _submit(reach: Reach, request: dict[str, Any], *, dry_run: bool) -> Reply:
    channel = reach.channel()
    spooled = spool_task(reach.root, request)
    accepted = False
    try:
        reply = reach.request({"kind": "job.submit", "request": request, "dry_run": dry_run})
        accepted = reply.get("kind") == "accepted"
    except NotSentError:
        raise
    except SupervisorLostError as error:
        accepted = True  # perhaps: then the file is needed
        if dry_run:
            raise
        raise UnconfirmedError(error.message, request["job_id"], getattr(channel, "pid", 0)) from None
    finally:
        if not accepted:
            remove_spooled(spooled)
    return reply
