"""One thing that was checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked. ``level``: ok, note (nothing to do), warn, fail."""

    section: str
    level: str
    text: str
    fix: str | None = None
    """What a person can do about it."""
    mend: Callable[[], str] | None = None
    """What ``--fix`` does about it: returns what it did. Raises OSError or StateError."""
