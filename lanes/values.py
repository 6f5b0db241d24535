"""Reading other programs' JSON: every accessor takes anything and returns the wanted type or None."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .framing import strip_controls

TARGET_CHARS = 200
EXCERPT_CHARS = 300
MESSAGE_CHARS = 2000
ASKED_CHARS = 16_000
"""What somebody is to allow is not cut before this: its end may be what matters."""
_LARGEST = 2**53


def as_object(value: object) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[Any]:
    """Return a JSON array, or an empty one."""
    return value if isinstance(value, list) else ()


def as_text(value: object, limit: int | None = None) -> str | None:
    """Return a string that is safe to keep and to show, cut to ``limit`` characters."""
    if not isinstance(value, str):
        return None
    text = value if limit is None else value[: limit + 1]
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = strip_controls(text)
    return text if limit is None else clip(text, limit)


def as_word(value: object, limit: int = TARGET_CHARS) -> str | None:
    """Return a non-blank one-line string, or None."""
    text = as_text(value, limit)
    text = " ".join(text.split()) if text else None
    return text or None


def as_asked(value: object) -> str | None:
    """Return what somebody is asked to allow, as it is, line by line: one line made of two may mean another thing."""
    text = as_text(value, ASKED_CHARS)
    return (text.strip() or None) if text else None


def as_count(value: object) -> int | None:
    """Return a non-negative whole number, or None. JSON's ``true`` is no number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        value = int(value) if math.isfinite(value) and value.is_integer() else None
    return value if isinstance(value, int) and 0 <= value <= _LARGEST else None


def as_number(value: object) -> float | None:
    """Return a finite non-negative number, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int):
        return float(value) if 0 <= value <= _LARGEST else None
    return value if math.isfinite(value) and value >= 0 else None


def clip(text: str, limit: int) -> str:
    """Return ``text`` cut to ``limit`` characters, saying so with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
