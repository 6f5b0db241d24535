"""Closing a session's log once nothing of it runs: whoever waits for an entry is told what became of it.

A holder that ends in order does this itself. One that was killed, or was ended by force, could not; nor
could any holder for what reached the inbox after its last look. May block; runs in the background.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from ..state.session_folder import EVENTS, SessionFolder
from .holder_log import ENDED_FIRST, LEFT_US, OVER, QUEUED, EventLog
from .session_reading import Tail

CLOSE_AGAIN_S, MOST_CLOSINGS = 5.0, 60
"""How soon, and how often, it is tried again to close a log that a full disk kept open."""


def closed(folder: SessionFolder, attempt: int, reason: str | None, survivors: tuple[int, ...]) -> bool:
    """Close the log of a session that was ended, unless somebody of it stayed. False where it has to be tried again."""
    return bool(survivors) or close_log(folder, attempt, reason)


def close_log(folder: SessionFolder, attempt: int, reason: str | None) -> bool:
    """Say of every entry in the inbox what became of it, and that the program has ended; once. Nobody else may write.

    What the log says already stays. Returns whether all of it is said: a full disk takes nothing.
    """
    told = _told(folder)
    taken = max(told.states, default=0)  # they are taken in order: one before it was lost from the log, not from us
    still = [number for number in folder.numbers() if number in told.states or number > taken]
    still = [number for number in still if told.states.get(number) not in OVER]
    ended = told.exited or folder.read_exit(attempt) is not None
    if ended and not still:
        return True
    log = EventLog(os.fspath(folder.path))
    unsure = set() if ended else _perhaps_given(folder, told, still)
    for number in still:
        state = "unverified" if told.states.get(number) in LEFT_US or number in unsure else "failed"
        entry = {"number": number, "id": folder.entry_id(number), "state": state, "reason": reason or ENDED_FIRST}
        log.append({"type": "delivery", **entry})
    if not ended:
        log.append({"type": "exited", "code": None, "signal": None, "reason": reason})
    return log.flush()


def _perhaps_given(folder: SessionFolder, told: _Told, still: list[int]) -> set[int]:
    """Return what a holder that was killed may have been giving: it writes that down only afterwards.

    What waits in its queue is given one at a time, in order, to a program that is idle; all else at once.
    """
    found: set[int] = set()
    next_of_queue = told.state == "idle"
    for number in still:
        if told.states.get(number) != "accepted":
            continue
        if folder.entry_op(number) not in QUEUED:
            found.add(number)
        elif next_of_queue:
            found.add(number)
            next_of_queue = False
    return found


@dataclass(slots=True)
class _Told:
    """What a log says."""

    states: dict[int, str] = field(default_factory=dict)
    """Entry → its last delivery."""
    state: str | None = None
    """The program's last state."""
    exited: bool = False
    """Whether the program that was started last has ended."""


def _told(folder: SessionFolder) -> _Told:
    tail, told, more = Tail(folder.path / EVENTS), _Told(), True
    while more:
        events, more = tail.more()
        for event in events:
            kind, number = event.get("type"), event.get("number")
            if kind == "delivery" and isinstance(number, int):
                told.states[number] = str(event.get("state"))
            elif kind == "exited":
                told.exited = True
            elif kind == "state":
                told.state = str(event.get("state"))
                told.exited = told.exited and told.state != "starting"
    return told
