"""Marks and quotas as ``--json`` shows them. Plain values, the same with a supervisor and without."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .limits import Mark, Room


def mark_object(mark: Mark) -> dict[str, Any]:
    """Return a mark; times are epoch seconds."""
    return {
        "key": mark.key,
        "lane": mark.lane,
        "until": mark.until,
        "reason": mark.reason,
        "evidence": mark.evidence,
        "measured_at": mark.measured_at,
    }


def quota_object(room: Room, now: float) -> dict[str, Any]:
    """Return a quota and what is left of it; ``model`` null is the lane's own default."""
    quota = room.quota
    spent = quota.exhausted_until if quota.exhausted_until is not None and now < quota.exhausted_until else None
    return {
        "lane": quota.lane,
        "model": quota.model or None,
        "per_day": quota.per_day,
        "used": room.used,
        "reset": quota.zone,
        "resets_at": room.resets_at,
        "exhausted_until": spent,
        "full": room.full(now),
    }


def limits_object(marks: Iterable[Mark], rooms: Iterable[Room], now: float) -> dict[str, Any]:
    """Return both as one object."""
    return {
        "marks": [mark_object(mark) for mark in marks],
        "quotas": [quota_object(room, now) for room in rooms],
    }
