"""Looking at loops, waiting for them and asking for one: from the store, so that nothing is started for a look."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from ..messages.entity_ids import LOOP
from ..state.ids import new_job_id
from . import exit_codes
from .errors import CliError
from .reach import Reach
from .sending import remove_spooled, send_once, spool_task
from .submit import environment

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

    The loop's id is chosen here.
    """
    loop_id = request["loop_id"] = LOOP + new_job_id(time.time(), os.urandom(6))
    reach.channel()  # it makes the state home
    spooled = spool_task(reach.root, request["common"])
    try:
        body = {"kind": "loop.start", "request": request, "dry_run": dry_run}
        return send_once(reach, body, loop_id, f"osrc loop status {loop_id}")
    finally:
        remove_spooled(spooled)


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
