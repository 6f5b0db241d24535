"""What became of jobs' results, in the store: written in the journal's transaction, read by anyone.

No pydantic at run time: the front end uses the reading half without a supervisor.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .reader import Reader

if TYPE_CHECKING:
    from ..messages.facts import JobOutcome

FIRST_SCHEMA = 6
"""The first that has this table."""
MOST = 5000
"""Newest outcomes that are read: what they say does not change by more."""
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
