"""Requests under an id of the caller's own that were handed over and have no answer yet.

A caller that heard nothing asks again with the same id, and must get what it asked for, once.
Once it is journalled the store knows it. Until then only its handing over is known, and here it is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ..messages.refusals import RefusalCode, Refused
from ..state.errors import StateError
from .base import Directory, Handle, Query, ReplyPort, log
from .journal import Settle

R = TypeVar("R")
WRITER = "journal"


@dataclass(slots=True)
class Flight:
    """One request on its way: whoever takes it asks through ``port``."""

    taker: Handle | None = None
    """Who was handed the request."""
    port: ReplyPort = field(default_factory=ReplyPort)
    """Where its answer goes, also one that comes when nobody waits any more."""
    undo: Callable[[], None] | None = None
    """What is to be done once it is not taken: it removes what was made for it. May raise StateError."""
    taken: Callable[[], bool] | None = None
    """Whether the store has it, asked where whoever took it left without a word. May raise StateError."""
    settled: ReplyPort | None = None
    """Where the writer says that nothing of that one's is left to be written."""
    late: bool = False
    """Whether whoever took it has left without an answer."""


def is_unknown(answer: object) -> bool:
    """Whether an answer leaves open what became of the request."""
    return isinstance(answer, Refused) and answer.code is RefusalCode.SUPERVISOR_BUSY


class Flights:
    """See the module. May be used from any thread."""

    def __init__(self, directory: Directory, taker: str = "jobs") -> None:
        """``taker``: the name of the actor that requests are handed to."""
        self._directory = directory
        self._taker = taker
        self._lock = threading.Lock()
        self._open: dict[str, Flight] = {}
        """By the id."""

    def once(self, asked: str, known: Callable[[], R | None], take: Callable[[Flight], R]) -> R | Refused:
        """Return what ``known`` says of an id, else what ``take`` makes of it, which nobody else does meanwhile.

        An answer of ``supervisor_busy`` leaves it open: what was handed over may still be done until the flight's
        port has its answer, as long as whoever has it lives, or anything waits to be written.
        """
        if (found := known()) is not None:
            return found
        flight = self._begin(asked)
        if flight is None:
            return Refused(
                code=RefusalCode.SUPERVISOR_BUSY,
                message="that very request is being taken; what became of it is not known yet",
                hint="ask again in a moment, or look with: osrc status",
            )
        answer: R | Refused | None = None
        try:
            answer = known()  # it may have been journalled between the two
            if answer is None:
                answer = take(flight)
        finally:
            with self._lock:
                flight.late = is_unknown(answer)
                if not flight.late:
                    self._open.pop(asked, None)
        return answer

    def waiting(self) -> int:
        """Return of how many requests nobody knows yet what became of them."""
        with self._lock:
            self._close()
            return sum(flight.late for flight in self._open.values())

    def _begin(self, asked: str) -> Flight | None:
        """Return the flight of an id; None while there is another."""
        with self._lock:
            self._close()
            if asked in self._open:
                return None
            self._open[asked] = flight = Flight(self._directory.find(self._taker))
            return flight

    def _close(self) -> None:
        """Let go of all that is decided. What is to be undone is undone before anybody can take the id again."""
        for asked, flight in list(self._open.items()):
            if not flight.late:
                continue  # whoever takes it closes it
            answer = flight.port.wait(0.0)
            unknown = is_unknown(answer)
            if unknown and (self._may_come(flight.taker) or not self._is_settled(flight)):
                continue
            if isinstance(answer, Refused) and flight.undo is not None:
                try:
                    if not unknown or (flight.taken is not None and not flight.taken()):
                        flight.undo()
                except StateError as error:
                    log.warning("%s was not taken: %s", asked, error)
            del self._open[asked]

    def _is_settled(self, flight: Flight) -> bool:
        """Whether nothing of it waits to be written: what the writer has in hand must not be undone."""
        if flight.undo is None or flight.taken is None:
            return True  # nothing depends on it
        if flight.settled is not None and flight.settled.answered:
            if flight.settled.wait(0.0) is True:
                return True
            flight.settled = None  # that writer has left: its successor is asked
        if flight.settled is None:
            port = ReplyPort()
            if self._directory.tell(WRITER, Query(Settle(), port)):
                flight.settled = port
        return False

    def _may_come(self, taker: Handle | None) -> bool:
        """Whether what was handed to this one may still be journalled."""
        writer = self._directory.find(WRITER)
        return (taker is not None and taker.alive) or writer is None or writer.waiting > 0
