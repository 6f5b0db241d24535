"""Loops in the store: they are their facts alone, so that all there is to keep of one is that it is said once."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import Any

from ..messages.loop import LoopFact, LoopStepEnded
from .loop_moves import REFUSED
from .loop_records import Record, after, fold

_FACTS = "SELECT at, body FROM facts WHERE job_id = ? AND kind LIKE 'loop.%' ORDER BY seq"


def is_settled(db: sqlite3.Connection, fact: LoopFact, at: float) -> bool:
    """Whether a fact changes nothing of a loop that there is, facts of the open transaction included."""
    known = _load(db, fact.loop_id)
    if known is None:
        return False
    return after(known, fact.model_dump(mode="json"), at) is known or _was_launched(db, known, fact)


def _was_launched(db: sqlite3.Connection, known: Record, fact: LoopFact) -> bool:
    """Whether a step is said to have come to no job that there is: by an actor that crashed while that waited."""
    if not isinstance(fact, LoopStepEnded) or fact.step.state != REFUSED:
        return False
    planned = {step.get("job_id") for step in known.get("steps") or () if step.get("number") == fact.step.number}
    return any(job and db.execute("SELECT 1 FROM jobs WHERE job_id = ?", (job,)).fetchone() for job in planned)


def _load(db: sqlite3.Connection, loop_id: str) -> Record | None:
    facts: list[tuple[float, dict[str, Any]]] = []
    for at, body in db.execute(_FACTS, (loop_id,)):
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            found = json.loads(body)
            if isinstance(found, dict):
                facts.append((float(at), found))
    return fold(facts)
