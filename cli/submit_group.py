"""From the members of a fan-out to one accepted group."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from ..messages.entity_ids import GROUP
from ..state.ids import new_job_id
from .errors import CliError, NotSentError, SupervisorLostError
from .place import CLOEXEC
from .reach import Reach
from .submit import agrees
from .task import INLINE_LIMIT

_ATTEMPTS = 6


def submit_group(reach: Reach, request: dict[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
    """Send one request; return ``group_accepted`` or ``group_planned``. Raises CliError where it was refused.

    The group's id is chosen here, or was before: a supervisor that went away before it answered is followed by
    another one, which makes no second group of what was taken.
    """
    request.setdefault("group_id", new_group_id())
    reach.channel()  # it makes the state home
    spooled = _spool(reach.root, request)
    try:
        for attempt in range(_ATTEMPTS):
            try:
                return reach.request({"kind": "fanout.submit", "request": request, "dry_run": dry_run})
            except CliError as error:
                common = request["common"]
                if error.code == "consent_needed" and not dry_run and agrees(reach.options, common, error):
                    common["cloud_ack"] = True
                    continue
                lost = isinstance(error, SupervisorLostError) or error.code == "stopping"
                if not lost or reach.in_process:
                    raise
                if attempt == _ATTEMPTS - 1:
                    raise _unconfirmed(error, request["group_id"]) from None
            reach.drop()
            time.sleep(min(0.05 * 2**attempt, 2.0))
        raise AssertionError("unreachable")
    finally:
        if spooled is not None:
            _remove(spooled)


def new_group_id() -> str:
    """Return an id that no group has."""
    return GROUP + new_job_id(time.time(), os.urandom(6))


def _unconfirmed(error: CliError, group_id: str) -> CliError:
    if isinstance(error, NotSentError) or error.code == "stopping":
        return CliError(error.code, f"{error.message}; nothing was started", error.hint)
    return CliError(
        error.code, f"{error.message}; whether {group_id} was taken is not known", f"osrc fanout status {group_id}"
    )


def _spool(root: str, request: dict[str, Any]) -> str | None:
    """Move members that are too long for a frame into a private file; return its path, or None."""
    data = json.dumps(request["members"], separators=(",", ":")).encode()
    if len(data) <= INLINE_LIMIT:
        return None
    path = f"{root}/spool/{os.getpid()}-{os.urandom(8).hex()}.json"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        _remove(path)
        code = "state_full" if error.errno in (28, 122) else "state_unwritable"
        raise CliError(code, f"the members can't be put into {root}/spool: {error.strerror}", "osrc doctor") from None
    request["members"] = []
    request["members_file"] = path
    return path


def _remove(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108 - a plain system call
    except OSError:
        return
