"""Which pauses hold: read from the journal, whose few facts about them are the only record."""

from __future__ import annotations

import json
from collections.abc import Iterable

from .queue import EVERYTHING
from .reader import Reader

PAUSED, RESUMED = "queue.paused", "queue.resumed"


def paused(reader: Reader) -> frozenset[str]:
    """Return the scopes of the pauses that hold now."""
    rows = reader.select("SELECT kind, body FROM facts WHERE kind IN (?, ?) ORDER BY seq", (PAUSED, RESUMED))
    return pauses([(kind, str(json.loads(body).get("scope"))) for kind, body in rows])


def pauses(facts: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the pauses that hold after these facts (kind, scope), in order. A resumed ``all`` takes back every one."""
    held: set[str] = set()
    for kind, scope in facts:
        if kind == PAUSED:
            held.add(scope)
        elif scope == EVERYTHING:
            held.clear()
        else:
            held.discard(scope)
    return frozenset(held)
