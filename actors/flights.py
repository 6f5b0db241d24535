"""Requests under an id of the caller's own that were handed over and have no answer yet.

A caller that heard nothing asks again with the same id, and must get the job that it asked for and no second one.
Once it is journalled the store knows it. Until then only its handing over is known, and here it is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from ..messages.refusals import RefusalCode, Refused
from .base import Directory, Handle

R = TypeVar("R")
TAKER = "jobs"
WRITER = "journal"


class Flights:
    """See the module. May be used from any thread."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._open: dict[str, Handle | None] = {}
        """Id → who was handed the request."""

    def once(self, asked: str, known: Callable[[], R | None], take: Callable[[], R]) -> R | Refused:
        """Return what ``known`` says of an id, else what ``take`` makes of it, which nobody else does meanwhile.

        An answer of ``supervisor_busy`` leaves it open: what was handed over may still be done, as long as
        whoever has it lives, or anything waits to be written.
        """
        if (found := known()) is not None:
            return found
        if not self._begin(asked):
            return Refused(
                code=RefusalCode.SUPERVISOR_BUSY,
                message="that very request is being taken; what became of it is not known yet",
                hint="ask again in a moment, or look with: osrc status",
            )
        answer: R | Refused | None = None
        try:
            answer = known()  # it may have been journalled between the two
            if answer is None:
                answer = take()
        finally:
            if not (isinstance(answer, Refused) and answer.code is RefusalCode.SUPERVISOR_BUSY):
                with self._lock:
                    self._open.pop(asked, None)
        return answer

    def is_open(self, asked: str) -> bool:
        """Whether a request under this id may still be journalled."""
        with self._lock:
            return asked in self._open and self._may_come(self._open[asked])

    def _begin(self, asked: str) -> bool:
        with self._lock:
            for name in [name for name, taker in self._open.items() if not self._may_come(taker)]:
                del self._open[name]
            if asked in self._open:
                return False
            self._open[asked] = self._directory.find(TAKER)
            return True

    def _may_come(self, taker: Handle | None) -> bool:
        """Whether what was handed to this one may still be journalled."""
        writer = self._directory.find(WRITER)
        return (taker is not None and taker.alive) or writer is None or writer.waiting > 0
