"""What limits say of a lane right now: marks, quotas, and runs that are about to begin.

Marks, quotas and counted runs are in the store, so that nothing is lost with a process; only reservations are
kept here, for the moment between a decision and its commit. May be used from any thread.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Literal

from ..messages.model_names import canonical
from ..state.home import Home
from ..state.limits import ANY, Mark, Quota, Room, covering, instant, key_of
from ..state.limits_reader import marks, quotas, rooms
from ..state.store import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Hindrance:
    """Why nothing may be sent to a lane now."""

    kind: Literal["down", "cap"]
    sentence: str
    """Without the lane's name: ``down until 2026-12-01 14:00 UTC: the plan's limit is used up``."""
    until: float
    """Epoch seconds."""


class LimitBook:
    """See the module."""

    def __init__(self, home: Home, wall: Callable[[], float], zone: tzinfo = UTC) -> None:
        self._database = home.database
        self._wall = wall
        self.zone = zone
        self._lock = threading.Lock()
        self._reserved: Counter[tuple[str, str]] = Counter()

    def hindrance(self, lane: str, pool: str | None, model: str | None) -> Hindrance | None:
        """Return what keeps a run of ``model`` from this lane and pool now; None when nothing does."""
        now = self._wall()
        with self._lock, Reader(self._database) as reader:
            key = key_of(lane, pool)
            mark = next((mark for mark in marks(reader, now) if mark.key == key), None)
            if mark is not None:
                return down(mark)
            full = self._full(reader, lane, model, now)
        return None if full is None else _capped(full, now)

    def mark(self, key: str) -> Mark | None:
        """Return the mark of a key that holds now."""
        now = self._wall()
        with Reader(self._database) as reader:
            return next((mark for mark in marks(reader, now) if mark.key == key), None)

    def quotas(self) -> list[Quota]:
        """Return every quota."""
        with Reader(self._database) as reader:
            return quotas(reader)

    def state(self) -> tuple[list[Mark], list[Room]]:
        """Return the marks that hold and what is left of every quota."""
        now = self._wall()
        with self._lock, Reader(self._database) as reader:
            every = quotas(reader)
            return marks(reader, now), [self._counted(room) for room in rooms(reader, every, now, self.zone)]

    @contextmanager
    def reserved(self, lane: str, model: str | None) -> Iterator[Hindrance | None]:
        """Hold one run of every quota it falls under while it is being accepted.

        Yields None when it is held, or why there is no room: then nothing is.
        """
        key = (lane, canonical(model))
        now = self._wall()
        with self._lock, Reader(self._database) as reader:
            full = self._full(reader, lane, model, now)
            if full is None:
                self._reserved[key] += 1
        try:
            yield None if full is None else _capped(full, now)
        finally:
            if full is None:
                with self._lock:
                    self._reserved[key] -= 1

    def _full(self, reader: Reader, lane: str, model: str | None, now: float) -> Room | None:
        wanted = covering(quotas(reader), lane, model)
        found = [self._counted(room) for room in rooms(reader, wanted, now, self.zone)]
        full = [room for room in found if room.full(now)]
        return max(full, key=_until, default=None)

    def _counted(self, room: Room) -> Room:
        quota = room.quota
        held = sum(
            number
            for (lane, model), number in self._reserved.items()
            if model == quota.model and quota.lane in (ANY, lane)
        )
        return Room(quota=quota, used=room.used + held, resets_at=room.resets_at)


def down(mark: Mark) -> Hindrance:
    """Return what a mark means for who wants to go there."""
    words = f"down until {instant(mark.until)}: {mark.reason}"
    if mark.evidence == "unverified":
        words += " (unverified)"
    return Hindrance(kind="down", sentence=words, until=mark.until)


def _capped(room: Room, now: float) -> Hindrance:
    where = "" if room.quota.lane != ANY else " on all lanes together"
    return Hindrance(kind="cap", sentence=f"its daily quota{where} is {room.sentence(now)}", until=_until(room))


def _until(room: Room) -> float:
    return max(room.quota.exhausted_until or 0.0, room.resets_at if room.used >= room.quota.per_day else 0.0)
