"""The picture of all work as text: four sections, a line for each thing. Safe to paste to a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .lines import age
from .plain import one_line

_TITLES = (
    ("captains_call", "Captain's Call"),
    ("recently_landed", "Recently Landed"),
    ("underway", "Underway"),
    ("charted_next", "Charted Next"),
)
_LINE = 200
_MOST = 50


def bearings_lines(picture: Mapping[str, Any], now: float, *, ages: bool = True) -> list[str]:
    """Return the lines. Whatever the picture holds, they are bounded and hold no control character."""
    captured = picture.get("captured_at")
    old = age(max(0.0, now - captured)) if isinstance(captured, int | float) else "?"
    lines = [f"as of {old} ago: {one_line(str(picture.get('pulse') or ''), _LINE)}"]
    counts = picture.get("counts")
    for key, title in _TITLES:
        items = picture.get(key)
        shown = [item for item in items if isinstance(item, Mapping)][:_MOST] if isinstance(items, list) else []
        count = counts.get(key) if isinstance(counts, Mapping) else None
        more = count - len(shown) if isinstance(count, int) else 0
        lines += ["", f"{title} ({count if isinstance(count, int) else len(shown)})"]
        lines += [_line(item, now, ages=ages) for item in shown] or ["  nothing"]
        if more > 0:
            lines.append(f"  and {more} more")
    return lines


def _line(item: Mapping[str, Any], now: float, *, ages: bool) -> str:
    at = item.get("at")
    old = f" {age(max(0.0, now - at))}" if ages and isinstance(at, int | float) else ""
    known = " (acknowledged)" if item.get("acknowledged") else ""
    words = [str(item.get(name) or "") for name in ("id", "state", "summary")]
    return one_line(f"- {words[0]} [{words[1]}{old}]{known} {words[2]}", _LINE)
