"""Looking at marks, quotas and the runs that count. No pydantic: the front end uses this without a supervisor."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import Any

from .limits import ANY, Mark, Quota, Room, day_of
from .reader import Reader

MARK_ROWS = "SELECT key, lane, until, reason, evidence, measured_at FROM lane_marks"
FIRST_SCHEMA = 2
"""The first that has these tables: a store that no supervisor has brought up to date yet holds none."""


def marks(reader: Reader, now: float) -> list[Mark]:
    """Return the marks that still hold, by key."""
    if reader.schema < FIRST_SCHEMA:
        return []
    return [mark_of(row) for row in reader.select(f"{MARK_ROWS} WHERE until > ? ORDER BY key", (now,))]


def quotas(reader: Reader) -> list[Quota]:
    """Return every quota, by model and lane."""
    if reader.schema < FIRST_SCHEMA:
        return []
    rows = reader.select("SELECT lane, model, per_day, zone, exhausted_until FROM quotas ORDER BY model, lane")
    return [
        Quota(
            lane=str(lane),
            model=str(model),
            per_day=int(per_day),
            zone="local" if zone == "local" else "utc",
            exhausted_until=None if until is None else float(until),
        )
        for lane, model, per_day, zone, until in rows
    ]


def rooms(reader: Reader, wanted: Sequence[Quota], now: float, zone: tzinfo) -> list[Room]:
    """Return what is left of each of ``wanted``. ``zone`` is this machine's."""
    return [_room(reader, quota, now, zone) for quota in wanted]


def mark_of(row: Sequence[Any]) -> Mark:
    """Return the mark of a row of ``MARK_ROWS``."""
    key, lane, until, reason, evidence, measured_at = row
    return Mark(
        key=str(key),
        lane=str(lane),
        until=float(until),
        reason=str(reason),
        evidence="confirmed" if evidence == "confirmed" else "unverified",
        measured_at=float(measured_at),
    )


def _room(reader: Reader, quota: Quota, now: float, zone: tzinfo) -> Room:
    start, end = day_of(now, zone if quota.zone == "local" else UTC)
    lane = None if quota.lane == ANY else quota.lane
    used = reader.select(
        "SELECT count(*) FROM lane_uses WHERE model = ? AND at >= ? AND at < ? AND (? IS NULL OR lane = ?)",
        (quota.model, start, end, lane, lane),
    )
    return Room(quota=quota, used=int(used[0][0]) if used else 0, resets_at=end)
