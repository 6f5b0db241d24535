"""A question to the person at the terminal. Who is not at one is never asked."""

from __future__ import annotations

import sys

from .output import is_terminal, say


def yes(question: str) -> bool:
    """Return whether a person said yes; False without one, and for anything that is not yes."""
    if sys.stdin is None or not is_terminal(sys.stdin) or not is_terminal(sys.stderr):
        return False
    say(f"{question} [y/N]")
    try:
        return sys.stdin.readline(100).strip().lower() in ("y", "yes")
    except (OSError, ValueError):
        return False
