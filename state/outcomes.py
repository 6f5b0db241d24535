"""What became of jobs' results, in the store: written in the journal's transaction, read by anyone.

No pydantic at run time: the front end uses the reading half without a supervisor.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .reader import Reader

if TYPE_CHECKING:
    from ..messages.facts import JobOutcome

FIRST_SCHEMA = 4
"""The first that has this table."""
MOST = 5000
"""Newest outcomes that are read: what they say does not change by more."""
_GAUGES = 40
_SAVE = """
INSERT OR REPLACE INTO outcomes (job_id, outcome, source, kind, project, lane, model, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was told of one job's result."""

    job_id: str
    outcome: str
    kind: str | None
    project: str | None
    lane: str
    model: str
    at: float
    """Epoch seconds."""


def keep(db: sqlite3.Connection, fact: JobOutcome, at: float) -> None:
    """Write what a fact tells."""
    row = (fact.job_id, fact.outcome, fact.source, fact.task_kind, fact.project, fact.lane, fact.model, at)
    db.execute(_SAVE, row)


def outcomes(reader: Reader, since: float) -> list[Told]:
    """Return what was told since then (epoch seconds), newest first."""
    if reader.schema < FIRST_SCHEMA:
        return []
    rows = reader.select(
        "SELECT job_id, outcome, kind, project, lane, model, at FROM outcomes WHERE at >= ? ORDER BY at DESC LIMIT ?",
        (since, MOST),
    )
    return [
        Told(
            job_id=str(job_id),
            outcome=str(outcome),
            kind=None if kind is None else str(kind),
            project=None if project is None else str(project),
            lane=str(lane),
            model=str(model),
            at=float(at),
        )
        for job_id, outcome, kind, project, lane, model, at in rows
    ]


def gauges(reader: Reader, now: float, max_age_s: float) -> dict[str, float]:
    """Return the fullest window of each lane's plan, in percent, as its newest fresh report told it.

    A window that has been reset since counts as unknown, not as empty.
    """
    rows = reader.select(
        "SELECT at, body FROM facts WHERE kind = 'limits.observed' AND at >= ? ORDER BY seq DESC LIMIT ?",
        (now - max_age_s, _GAUGES),
    )
    found: dict[str, float] = {}
    for _, body in rows:
        try:
            fact = json.loads(body)
            lane, windows = str(fact["lane"]), list(fact["windows"])
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
        used = [share for window in windows if (share := _used(window, now)) is not None]
        if used:
            found.setdefault(lane, max(used))
    return found


def _used(window: object, now: float) -> float | None:
    if not isinstance(window, dict):
        return None
    share, resets_at = window.get("utilization"), window.get("resets_at")
    if not isinstance(share, int | float) or not 0 <= share <= 1:
        return None
    over = isinstance(resets_at, int | float) and resets_at <= now
    return None if over else share * 100.0
