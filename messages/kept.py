"""Records from files that anything may have happened to."""

from __future__ import annotations

from typing import TypeVar

from .base import Observation

_R = TypeVar("_R", bound=Observation)


def kept(kind: type[_R], data: str | bytes) -> _R | None:
    """Return the record that a file's JSON holds; None where it makes no sense.

    One that could not be journalled and read again (no number, half a character) makes none either: taken in, it
    would fail whoever comes across it, at every start anew.
    """
    try:
        found = kind.model_validate_json(data)
        return found if kind.model_validate_json(found.model_dump_json()) == found else None
    except ValueError:  # pydantic's refusals, and what can't be written as JSON
        return None
