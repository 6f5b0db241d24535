"""Marks, quotas and runs that count, in the store: written in the journal's transaction, read by anyone.

The writer's half takes the open connection of ``Store``; the reader's half a ``Reader``.
"""

from __future__ import annotations

import sqlite3

from ..messages.facts import Fact, LaneDown, LaneUp, QuotaCleared, QuotaExhausted, QuotaSet
from ..messages.job import JobRecord
from ..messages.model_names import canonical
from ..messages.session import SessionAccepted, SessionFact, SessionGiven, SessionRecord
from .limits import ANY, Mark, Quota, stronger
from .limits_reader import MARK_ROWS, mark_of

_SAVE_MARK = """
INSERT OR REPLACE INTO lane_marks (key, lane, until, reason, evidence, measured_at) VALUES (?, ?, ?, ?, ?, ?)
"""
_SAVE_QUOTA = """
INSERT INTO quotas (lane, model, per_day, zone, exhausted_until) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (lane, model) DO UPDATE SET per_day = excluded.per_day, zone = excluded.zone
"""
_COUNT = "INSERT OR IGNORE INTO lane_uses (job_id, attempt, lane, model, at) VALUES (?, ?, ?, ?, ?)"


def keep(db: sqlite3.Connection, fact: Fact, at: float) -> None:
    """Do what a fact about limits says; any other changes nothing."""
    match fact:
        case LaneDown():
            _mark(db, fact, at)
        case LaneUp(key=key):
            db.execute("DELETE FROM lane_marks WHERE key = ?", (key,))
        case QuotaSet():
            keep_quota(db, Quota(lane=fact.lane, model=fact.model, per_day=fact.per_day, zone=fact.zone))
        case QuotaCleared(lane=lane, model=model):
            db.execute("DELETE FROM quotas WHERE lane = ? AND model = ?", (lane, model))
        case QuotaExhausted():
            db.execute(
                "UPDATE quotas SET exhausted_until = max(coalesce(exhausted_until, 0), ?)"
                " WHERE model = ? AND lane IN (?, ?)",
                (fact.until, fact.model, fact.lane, ANY),
            )
        case _:
            return


def count(db: sqlite3.Connection, before: JobRecord | None, after: JobRecord, at: float) -> None:
    """Count a run where a job's change begins one, and forget those of a job that ended before it ever ran."""
    begins = before is None or before.wake_at is not None or (before.lane, before.model) != (after.lane, after.model)
    if after.state.terminal:
        if after.started is None:
            db.execute("DELETE FROM lane_uses WHERE job_id = ?", (after.job_id,))
    elif begins and after.wake_at is None:
        attempt = max(after.attempt, 1)
        db.execute(_COUNT, (after.job_id, attempt, after.lane, canonical(after.model), at))


def count_send(db: sqlite3.Connection, fact: SessionFact, record: SessionRecord, at: float) -> None:
    """Count a prompt that a session is given, like a run: by its number in the session."""
    if isinstance(fact, SessionAccepted):
        number = record.given
    elif isinstance(fact, SessionGiven) and fact.op == "send":
        number = fact.number
    else:
        return
    if number:
        db.execute(_COUNT, (record.session_id, number, record.lane, canonical(record.model), at))


def keep_quota(db: sqlite3.Connection, quota: Quota) -> None:
    """Write a quota."""
    row = (quota.lane, quota.model, quota.per_day, quota.zone, quota.exhausted_until)
    db.execute(_SAVE_QUOTA, row)


def _mark(db: sqlite3.Connection, fact: LaneDown, at: float) -> None:
    db.execute("DELETE FROM lane_marks WHERE until <= ?", (at,))
    found = db.execute(f"{MARK_ROWS} WHERE key = ?", (fact.key,)).fetchone()
    new = Mark(
        key=fact.key, lane=fact.lane, until=fact.until, reason=fact.reason, evidence=fact.evidence, measured_at=at
    )
    mark = stronger(mark_of(found) if found else None, new)
    db.execute(_SAVE_MARK, (mark.key, mark.lane, mark.until, mark.reason, mark.evidence, mark.measured_at))
