"""Gauges that others wrote down: Codex in its rollouts, and our tap on Claude Code's status line. Pure.

Standard library only: ``limits`` and ``brief`` are quick. Seen with codex 0.171.0: a line of a rollout is
``{"timestamp", "type": "event_msg", "payload": {"type": "token_count", "rate_limits": {"primary": {"used_percent",
"window_minutes", "resets_at"}, "secondary": ...}}}``; without a plan ``rate_limits`` is null.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

LINES = 400
"""Most lines of a rollout's end that are looked at, newest first."""
LINE_CAP = 1 << 20
_MARK = b'"rate_limits"'
_LENGTHS = {300: "five_hour", 10080: "seven_day"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One window as it was written down; ``utilization`` 0.0 to 1.0, times in epoch seconds."""

    name: str
    utilization: float
    resets_at: float | None
    measured_at: float


def from_rollout(tail: bytes) -> list[Told]:
    """Return the last gauges that the end of a rollout tells; its first line may be cut."""
    for line in reversed(tail.split(b"\n")[-LINES:]):
        if _MARK in line and len(line) <= LINE_CAP and (found := _from_line(line)):
            return found
    return []


def from_tap(content: bytes) -> list[Told]:
    """Return what ``cli/statusline.py`` wrote down; empty for anything else."""
    data = _object(content)
    at, windows = _number(data.get("measured_at")), data.get("windows")
    if at is None or not isinstance(windows, list):
        return []
    rows = [row for row in windows[:16] if isinstance(row, dict)]
    found = (_told(row.get("name"), _number(row.get("utilization")), row.get("resets_at"), at) for row in rows)
    return [one for one in found if one is not None]


def _from_line(line: bytes) -> list[Told]:
    data = _object(line)
    payload = data.get("payload")
    limits = payload.get("rate_limits") if isinstance(payload, dict) else None
    at = _instant(data.get("timestamp"))
    if not isinstance(limits, dict) or at is None:
        return []
    found = []
    for name in ("primary", "secondary"):
        row = limits.get(name)
        if not isinstance(row, dict):
            continue
        minutes, used = _number(row.get("window_minutes")), _number(row.get("used_percent"))
        share = None if used is None else used / 100
        told = _told(_LENGTHS.get(int(minutes or 0), name), share, row.get("resets_at"), at)
        if told is not None:
            found.append(told)
    return found


def _told(name: object, used: float | None, resets_at: object, at: float) -> Told | None:
    if not isinstance(name, str) or not name.isprintable() or not name or used is None:
        return None
    return Told(name=name[:64], utilization=min(used, 1.0), resets_at=_number(resets_at), measured_at=at)


def _instant(value: object) -> float | None:
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return abs(number) if math.isfinite(number) and 0 <= number < 1e11 else None  # there is a -0.0


def _object(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
