"""Looking at loops, which are kept as their facts alone. No pydantic: the front end uses this without a supervisor."""

from __future__ import annotations

import json
from typing import Any

from ..messages.entity_ids import LOOP, whole
from .loop_records import Record, fold
from .loop_views import brief
from .reader import CANDIDATES, Reader

MOST_FACTS = 100_000
_TURNS = "kind IN ('loop.accepted', 'loop.resumed', 'loop.ended')"
_RESTORED_ENDED = "kind = 'loop.accepted' AND json_valid(body) AND json_extract(body, '$.record.end') IS NOT NULL"
"""Of a loop that was taken from its folder: it had ended before its store was lost."""


def loop(reader: Reader, loop_id: str) -> Record | None:
    """Return one loop by its full id, or None."""
    return fold((at, fact) for _, at, _, body in reader.entries(0, MOST_FACTS, job=loop_id) if (fact := _fact(body)))


def loops(reader: Reader, limit: int = 40) -> list[Record]:
    """Return the newest ``limit`` loops (0: all)."""
    ids = list(dict.fromkeys(reversed(_ids(reader))))
    found = (loop(reader, loop_id) for loop_id in (ids[:limit] if limit > 0 else ids))
    return [one for one in found if one is not None]


def live_loops(reader: Reader) -> list[str]:
    """Return the ids of every loop that has not ended, oldest first."""
    live: dict[str, None] = {}
    ended = f"kind = 'loop.ended' OR ({_RESTORED_ENDED})"
    for loop_id, over in reader.select(f"SELECT job_id, {ended} FROM facts WHERE {_TURNS} ORDER BY seq"):  # noqa: S608 - our own words only
        if over:
            live.pop(str(loop_id), None)
        else:
            live[str(loop_id)] = None
    return list(live)


def running(reader: Reader, now: float) -> tuple[dict[str, Any], ...]:
    """Return every loop that has not ended, in brief. ``now`` is epoch seconds."""
    found = (loop(reader, loop_id) for loop_id in live_loops(reader))
    return tuple(brief(one, now) for one in found if one is not None)


def resolve_loop(reader: Reader, token: str) -> list[Record]:
    """Return the loops a person may mean: the id; else that label, newest first; else a prefix of the id.

    The id's own first word (``loop-``) may be left out. At most ``CANDIDATES``; empty when there is none.
    """
    if not token or not token.isprintable():
        return []
    exact = loop(reader, token)
    if exact is not None:
        return [exact]
    labelled = [one for one in loops(reader, 0) if one.get("label") == token]
    if labelled:
        return labelled[:CANDIDATES]
    beginning = whole(token, LOOP)
    found = (loop(reader, one) for one in reversed(_ids(reader)) if one.startswith(beginning))
    return [one for one in found if one is not None][:CANDIDATES]


def _ids(reader: Reader) -> list[str]:
    rows = reader.select("SELECT job_id FROM facts WHERE kind = 'loop.accepted' ORDER BY seq")
    return [str(row[0]) for row in rows]


def _fact(body: str) -> dict[str, Any] | None:
    try:
        fact = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return fact if isinstance(fact, dict) else None
