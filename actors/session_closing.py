"""Closing a session's log once nothing of it runs: whoever waits for an entry is told what became of it.

A holder that ends in order does this itself. One that was killed, or was ended by force, could not; nor
could any holder for what reached the inbox after its last look. May block; runs in the background.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from ..state.session_folder import EVENTS, SessionFolder
from .holder_log import ENDED_FIRST, LEFT_US, OVER, EventLog
from .session_reading import Tail


def closed(folder: SessionFolder, attempt: int, reason: str | None, survivors: tuple[int, ...]) -> tuple[int, ...]:
    """Close the log of a session that was ended, unless somebody of it stayed. Returns the ``survivors``."""
    if not survivors:
        close_log(folder, attempt, reason)
    return survivors


def close_log(folder: SessionFolder, attempt: int, reason: str | None) -> None:
    """Say of every entry in the inbox what became of it, and that the program has ended; once. Nobody else may write.

    What the log says already stays.
    """
    told = _told(folder)
    taken = max(told.states, default=0)  # they are taken in order: one before it was lost from the log, not from us
    still = [number for number in folder.numbers() if number in told.states or number > taken]
    still = [number for number in still if told.states.get(number) not in OVER]
    ended = told.exited or folder.read_exit(attempt) is not None
    if ended and not still:
        return
    log = EventLog(os.fspath(folder.path))
    for number in still:
        state = "unverified" if told.states.get(number) in LEFT_US else "failed"
        entry = {"number": number, "id": folder.entry_id(number), "state": state, "reason": reason or ENDED_FIRST}
        log.append({"type": "delivery", **entry})
    if not ended:
        log.append({"type": "exited", "code": None, "signal": None, "reason": reason})


@dataclass(slots=True)
class _Told:
    """What a log says."""

    states: dict[int, str] = field(default_factory=dict)
    """Entry → its last delivery."""
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
            elif kind == "state" and event.get("state") == "starting":
                told.exited = False
    return told
