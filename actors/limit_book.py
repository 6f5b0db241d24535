"""What limits say of a lane right now: marks, quotas, and runs that are about to begin.

Marks, quotas and counted runs are in the store, so that nothing is lost with a process; only reservations are
kept here, for the moment between a decision and its commit. May be used from any thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Literal

from ..messages.job import JobRequest
from ..messages.model_names import canonical
from ..messages.refusals import RefusalCode, Refused
from ..state.errors import DamagedStore
from ..state.home import Home
from ..state.limits import ANY, Mark, Quota, Room, covering, instant, key_of
from ..state.limits_reader import marks, quotas, rooms
from ..state.store import Reader
from .base import log

FRESH_S = 1.0
"""How long marks and quotas are believed that nobody here has changed: a launch then reads nothing."""
TOLD_S = 60.0
_TOLD: dict[str, float] = {}
"""What was last said of damage, and when (monotonic)."""


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
        self._reserved: dict[str, tuple[str, str]] = {}
        """Job → lane and model key of the run that it is about to begin."""
        self._read: tuple[float, Sequence[Mark], Sequence[Quota]] | None = None

    def hindrance(self, lane: str, pool: str | None, model: str | None) -> Hindrance | None:
        """Return what keeps a run of ``model`` from this lane and pool now; None when nothing does."""
        now = self._wall()
        known, every = self._known(now)
        mark = next((mark for mark in known if mark.key == key_of(lane, pool) and mark.live(now)), None)
        if mark is not None:
            return down(mark)
        with self._lock:
            full = self._full(covering(every, lane, model), now)
        return None if full is None else _capped(full, now)

    def mark(self, key: str) -> Mark | None:
        """Return the mark of a key that holds now."""
        now = self._wall()
        return next((mark for mark in self._known(now)[0] if mark.key == key and mark.live(now)), None)

    def quotas(self) -> list[Quota]:
        """Return every quota."""
        return list(self._known(self._wall())[1])

    def state(self) -> tuple[list[Mark], list[Room]]:
        """Return the marks that hold and what is left of every quota."""
        now = self._wall()
        with self._lock, Reader(self._database) as reader:
            every = quotas(reader)
            return marks(reader, now), [self._counted(room) for room in rooms(reader, every, now, self.zone)]

    def forget(self) -> None:
        """Marks or quotas were changed: read them again."""
        self._read = None

    def take(self, job_id: str, lane: str, model: str | None) -> Hindrance | None:
        """Hold one run of every quota it falls under until ``give_back``; or return why there is no room.

        A job holds one at a time.
        """
        now = self._wall()
        wanted = covering(self._known(now)[1], lane, model)
        with self._lock:
            self._reserved.pop(job_id, None)
            full = self._full(wanted, now)
            if full is None:
                self._reserved[job_id] = (lane, canonical(model))
        return None if full is None else _capped(full, now)

    def give_back(self, job_id: str) -> None:
        """Hold it no longer: it was committed, which counts it, or it is not to be. Repeating it is harmless."""
        with self._lock:
            self._reserved.pop(job_id, None)

    def _known(self, now: float) -> tuple[Sequence[Mark], Sequence[Quota]]:
        """Return marks and quotas, read anew where they were changed, or another process may have changed them."""
        read = self._read
        if read is not None and 0 <= now - read[0] < FRESH_S:
            return read[1], read[2]
        try:
            with Reader(self._database) as reader:
                found = marks(reader, now), quotas(reader)
        except DamagedStore as damage:
            _tell(damage)
            return (), ()
        self._read = (now, *found)
        return found

    def _full(self, wanted: Sequence[Quota], now: float) -> Room | None:
        """Return the quota among those that has no room, the one that is full for longest."""
        if not wanted:
            return None
        try:
            with Reader(self._database) as reader:
                found = [self._counted(room) for room in rooms(reader, wanted, now, self.zone)]
        except DamagedStore as damage:
            _tell(damage)
            return None
        return max((room for room in found if room.full(now)), key=_until, default=None)

    def _counted(self, room: Room) -> Room:
        quota = room.quota
        held = sum(quota.covers(lane, model) for lane, model in self._reserved.values())
        return Room(quota=quota, used=room.used + held, resets_at=room.resets_at)


def admit(
    request: JobRequest, lane: str, pool: str | None, model: str | None, limits: LimitBook | None
) -> Hindrance | Refused | None:
    """Return None where nothing is in a job's way; what it waits for where it said so; else why it is refused."""
    found = limits.hindrance(lane, pool, model) if limits is not None else None
    if found is None or request.wait_limit:
        return found
    return refusal(found, lane, model, pinned=request.model is not None)


def refusal(found: Hindrance, lane: str, model: str | None, *, pinned: bool, waits: bool = True) -> Refused:
    """Return the refusal of what a limit is in the way of, with what helps. ``waits``: whether it could wait."""
    what = f"{model or 'the default model'} on {lane}: " if found.kind == "cap" else f"the lane {lane} is "
    kept = f"; {model} was named and is not replaced" if pinned else ""
    clear = f"osrc limits clear {lane}" + (f" {model or 'default'}" if found.kind == "cap" else "")
    wait = "--wait-limit waits for it; " if waits else ""
    return Refused(
        code=RefusalCode.QUOTA_FULL if found.kind == "cap" else RefusalCode.LANE_DOWN,
        message=f"{what}{found.sentence}{kept}",
        hint=f"{wait}another lane or model with --lane or -m; if it is not so: {clear}",
    )


def down(mark: Mark) -> Hindrance:
    """Return what a mark means for who wants to go there."""
    words = f"down until {instant(mark.until)}: {mark.reason}"
    if mark.evidence == "unverified":
        words += " (unverified)"
    return Hindrance(kind="down", sentence=words, until=mark.until)


def _tell(damage: DamagedStore) -> None:
    """Hinder nobody where nothing can be read: whoever journals meets the damage, and mends it.

    It is said once a minute: advice asks for every lane and model that there is.
    """
    now = time.monotonic()
    if now - _TOLD.get(damage.message, -TOLD_S) < TOLD_S:
        return
    _TOLD.clear()
    _TOLD[damage.message] = now
    log.warning("limits can't be read: %s", damage.message)


def _capped(room: Room, now: float) -> Hindrance:
    where = "" if room.quota.lane != ANY else " on all lanes together"
    return Hindrance(kind="cap", sentence=f"its daily quota{where} is {room.sentence(now)}", until=_until(room))


def _until(room: Room) -> float:
    return max(room.quota.exhausted_until or 0.0, room.resets_at if room.used >= room.quota.per_day else 0.0)
