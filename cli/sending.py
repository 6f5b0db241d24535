"""Sending what begins work: by a file what is too long for a frame, and again where a supervisor left unanswered."""

from __future__ import annotations

import os
import time
from typing import Any

from .errors import CliError, NotSentError, SupervisorLostError
from .options import Globals
from .place import CLOEXEC
from .reach import Reach
from .task import INLINE_LIMIT

_ATTEMPTS = 6


def send_once(reach: Reach, body: dict[str, Any], named: str, look: str) -> dict[str, Any]:
    """Send what begins a group or a loop; return the reply. Raises CliError where it was refused.

    ``body`` is the command; its request has the id in it, ``named``: a supervisor that went away before it answered
    is followed by another one, which makes no second one of what was taken. ``look`` shows whether it was.
    """
    common = body["request"]["common"]
    for attempt in range(_ATTEMPTS):
        try:
            return reach.request(body)
        except CliError as error:
            if error.code == "consent_needed" and not body["dry_run"] and agrees(reach.options, common, error):
                common["cloud_ack"] = True
                continue
            lost = isinstance(error, SupervisorLostError) or error.code == "stopping"
            if not lost or reach.in_process:
                raise
            if attempt == _ATTEMPTS - 1:
                raise _unconfirmed(error, named, look) from None
        reach.drop()
        time.sleep(min(0.05 * 2**attempt, 2.0))
    raise CliError("consent_needed", "work may not leave this machine", "osrc consent grant")


def _unconfirmed(error: CliError, named: str, look: str) -> CliError:
    if isinstance(error, NotSentError) or error.code == "stopping":
        return CliError(error.code, f"{error.message}; nothing was started", error.hint)
    return CliError(error.code, f"{error.message}; whether {named} was taken is not known", look)


def agrees(options: Globals, request: dict[str, Any], error: CliError) -> bool:
    """Ask the person at this terminal, if there is one, whether work may leave this machine."""
    if options.json or options.quiet or request.get("cloud_ack"):
        return False
    from .asking import yes  # noqa: PLC0415 - once in a lifetime

    return yes(f"{error.message}.\nMay work leave this machine, from now on (osrc consent revoke takes it back)?")


def spool(root: str, data: bytes, ending: str, what: str) -> str | None:
    """Write what is too long for a frame into a private file; return its path, or None where it is not too long."""
    if len(data) <= INLINE_LIMIT:
        return None
    path = f"{root}/spool/{os.getpid()}-{os.urandom(8).hex()}.{ending}"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        remove_spooled(path)
        code = "state_full" if error.errno in (28, 122) else "state_unwritable"
        raise CliError(code, f"{what} can't be put into {root}/spool: {error.strerror}", "osrc doctor") from None
    return path


def spool_task(root: str, request: dict[str, Any]) -> str | None:
    """Move a request's task into a private file where it is too long for a frame; return its path, or None."""
    task = request["task"]
    if len(task) * 4 <= INLINE_LIMIT:
        return None  # no character is longer: it need not be encoded to know
    path = spool(root, task.encode("utf-8"), "md", "the task")
    if path is not None:
        del request["task"]
        request["task_file"] = path
    return path


def remove_spooled(path: str | None) -> None:
    """Take such a file away, if there is one."""
    if path is None:
        return
    try:
        os.unlink(path)  # noqa: PTH108 - a plain system call
    except OSError:
        return
