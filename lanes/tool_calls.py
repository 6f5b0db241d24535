"""What parsers of several lanes do with a tool's call: keep whose result is to come, and find what it is used on.

Standard library only: the holders of sessions use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from .values import TARGET_CHARS, as_object, as_word

KEPT = 256
"""Calls that a result is waited for, at most."""

T = TypeVar("T")


def keep_call(calls: dict[str, T], call: str | None, what: T) -> None:
    """Keep what is known of a call until its result comes; of too many the oldest is forgotten.

    >>> calls: dict[str, str] = {}
    >>> keep_call(calls, "1", "bash"), keep_call(calls, None, "edit"), calls
    (None, None, {'1': 'bash'})
    """
    if call is None:
        return
    calls[call] = what
    if len(calls) > KEPT:
        del calls[next(iter(calls))]


def target_in(arguments: object, keys: Sequence[str]) -> str | None:
    """Return what a tool is used on: the first of these arguments that has a word.

    >>> target_in({"command": " ", "path": "a.py"}, ("command", "path")), target_in(None, ("path",))
    ('a.py', None)
    """
    given = as_object(arguments)
    return next((word for key in keys if (word := as_word(given.get(key), TARGET_CHARS))), None)
