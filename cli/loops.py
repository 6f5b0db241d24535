"""Looking at loops, waiting for them and asking for one: from the store, so that nothing is started for a look."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from ..messages.entity_ids import LOOP
from ..state.ids import new_job_id
from . import exit_codes
from .errors import CliError, NotSentError, SupervisorLostError
from .place import CLOEXEC
from .reach import Reach
from .submit import agrees, environment
from .task import INLINE_LIMIT

Loop = dict[str, Any]
"""A loop object (``state/loop_views.py``)."""

POLL_S = 0.2
ALIVE_S = 3.0
"""How often it is looked whether somebody supervises a loop that is waited for."""
_ATTEMPTS = 6
_ENDS = {
    "success": exit_codes.DONE,
    "blocked": exit_codes.BLOCKED,
    "max_turns": exit_codes.UNVERIFIED,
    "max_time": exit_codes.UNVERIFIED,
    "max_usd": exit_codes.UNVERIFIED,
    "canceled": exit_codes.INTERRUPTED,
}


def exit_code(loop: Mapping[str, Any]) -> int:
    """Return the exit code of a loop; one that has not ended counts as a wait that ran out."""
    return _ENDS.get(str(loop.get("state")), exit_codes.TIMEOUT)


def ended(loop: Mapping[str, Any]) -> bool:
    """Whether a loop has ended."""
    return loop.get("state") in _ENDS


def all_loops(reach: Reach, limit: int) -> list[Loop]:
    """Return the newest loops (``limit`` 0: all)."""
    from ..state.loops_reader import loops  # noqa: PLC0415 - off the hot paths

    with _reader(reach) as reader:
        return [_object(reach, row) for row in loops(reader, limit)]


def one_loop(reach: Reach, token: str | None) -> Loop:
    """Return the loop that an id, a prefix of it or a label names; without one, the newest. Raises CliError."""
    from ..state.loops_reader import loops, resolve_loop  # noqa: PLC0415 - as above

    with _reader(reach) as reader:
        found = loops(reader, 1) if token is None else resolve_loop(reader, token)
        if not found:
            said = "there is no loop yet" if token is None else f"there is no loop {token!r}"
            raise CliError("no_such_loop", said, "osrc loop list")
        if len(found) > 1:
            some = ", ".join(str(row["loop_id"]) for row in found[:5])
            raise CliError("ambiguous_loop", f"{token!r} could be any of {len(found)} loops: {some}", "give its id")
        return _object(reach, found[0])


def wait_for(reach: Reach, loop_id: str, deadline: float | None, show: Callable[[Loop], None]) -> Loop:
    """Return the loop once it has ended, or at ``deadline`` (monotonic) as it is then.

    Somebody supervises it meanwhile: a supervisor that goes away is followed by another one.
    """
    checked = 0.0
    while True:
        loop = one_loop(reach, loop_id)
        show(loop)
        now = time.monotonic()
        if ended(loop) or (deadline is not None and now >= deadline):
            return loop
        if now >= checked:
            reach.drop()
            reach.channel()
            checked = time.monotonic() + ALIVE_S
        time.sleep(POLL_S if deadline is None else min(POLL_S, max(0.0, deadline - time.monotonic())))


def start(reach: Reach, request: dict[str, Any], *, dry_run: bool) -> dict[str, Any]:
    """Ask for one loop; return ``loop_accepted`` or ``loop_planned``. Raises CliError where it was refused.

    The loop's id is chosen here: a supervisor that went away before it answered is followed by another one, which
    makes no second loop of what was taken.
    """
    request["loop_id"] = LOOP + new_job_id(time.time(), os.urandom(6))
    reach.channel()  # it makes the state home
    spooled = _spool(reach.root, request["common"])
    try:
        return _insist(reach, request, dry_run=dry_run)
    finally:
        if spooled is not None:
            _remove(spooled)


def _insist(reach: Reach, request: dict[str, Any], *, dry_run: bool) -> dict[str, Any]:
    for attempt in range(_ATTEMPTS):
        try:
            return reach.request({"kind": "loop.start", "request": request, "dry_run": dry_run})
        except CliError as error:
            common = request["common"]
            if error.code == "consent_needed" and not dry_run and agrees(reach.options, common, error):
                common["cloud_ack"] = True
                continue
            lost = isinstance(error, SupervisorLostError) or error.code == "stopping"
            if not lost or reach.in_process:
                raise
            if attempt == _ATTEMPTS - 1:
                raise _unconfirmed(error, request["loop_id"]) from None
        reach.drop()
        time.sleep(min(0.05 * 2**attempt, 2.0))
    raise CliError("consent_needed", "work may not leave this machine", "osrc consent grant")


def resume(reach: Reach, loop_id: str, given: dict[str, Any]) -> Loop:
    """Let an ended loop go on. Raises CliError where it was refused."""
    body = {"kind": "loop.resume", "loop_id": loop_id, "environment": environment(), **given}
    if reach.options.cloud_ack:
        body["cloud_ack"] = True
    return dict(reach.request(body)["loop"])


def cancel(reach: Reach, loop_id: str) -> Loop:
    """Ask for the end of a loop. Raises CliError where it was refused."""
    reach.drop()
    return dict(reach.request({"kind": "loop.cancel", "loop_id": loop_id})["loop"])


def _unconfirmed(error: CliError, loop_id: str) -> CliError:
    if isinstance(error, NotSentError) or error.code == "stopping":
        return CliError(error.code, f"{error.message}; nothing was started", error.hint)
    said = f"{error.message}; whether {loop_id} was taken is not known"
    return CliError(error.code, said, f"osrc loop status {loop_id}")


def _spool(root: str, common: dict[str, Any]) -> str | None:
    """Move a task that is too long for a frame into a private file; return its path, or None."""
    data = common["task"].encode("utf-8")
    if len(data) <= INLINE_LIMIT:
        return None
    path = f"{root}/spool/{os.getpid()}-{os.urandom(8).hex()}.md"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        _remove(path)
        code = "state_full" if error.errno in (28, 122) else "state_unwritable"
        raise CliError(code, f"the task can't be put into {root}/spool: {error.strerror}", "osrc doctor") from None
    del common["task"]
    common["task_file"] = path
    return path


def _remove(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108 - a plain system call
    except OSError:
        return


def _reader(reach: Reach) -> Any:  # noqa: ANN401 - typed where it is made
    from ..state.reader import Reader  # noqa: PLC0415 - as above

    return Reader(f"{reach.root}/state.db")


def _object(reach: Reach, row: Mapping[str, Any]) -> Loop:
    from ..state.loop_views import loop_object  # noqa: PLC0415 - as above

    found = loop_object(row, reach.root, time.time())
    live = [step for step in found["steps"] if step["session_id"] is not None and step["ended"] is None]
    if live:
        with _reader(reach) as reader:
            for step in live:
                step["session_state"] = (reader.session(step["session_id"]) or {}).get("state")
    return found
