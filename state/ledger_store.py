"""The writing half of the ledger and the gauges: in the journal's transaction, on ``Store``'s open connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping

from pydantic import ValidationError

from ..messages.facts import FACT, GaugesRead, JobAccepted
from ..messages.job import JobRecord
from ..messages.session import GaugeWindow, LimitsObserved, SessionRecord, SessionSpent
from .ledger import COUNTS, Row, row_of_turn, rows_of, total_in
from .limits import key_of
from .records import apply

_SAVE = """
INSERT OR REPLACE INTO ledger (job_id, attempt, at, lane, model, group_id, ok, spent, pool, cash_nano, known,
    input, cached_input, cache_write, output, reasoning, total)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SAVE_GAUGE = """
INSERT INTO gauges (key, name, utilization, resets_at, measured_at, source) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (key, name) DO UPDATE SET utilization = excluded.utilization, resets_at = excluded.resets_at,
    measured_at = excluded.measured_at, source = excluded.source
WHERE excluded.measured_at >= gauges.measured_at
"""
MIGRATION = "ledger"
"""The migration after which ``fill`` is to be called."""


def keep(db: sqlite3.Connection, before: JobRecord | None, after: JobRecord, at: float) -> None:
    """Write the rows of a job whose record changed, where its attempts did."""
    known = () if before is None else before.hops
    if not after.state.terminal and after.hops == known:
        return
    earlier = None if after.continues is None else _counted_by(db, after.continues)
    for row in rows_of(after, at, earlier):
        _save(db, row)


def keep_turn(db: sqlite3.Connection, record: SessionRecord, turn: SessionSpent, at: float) -> None:
    """Write the row of a session's turn; told again, it is the same row."""
    _save(db, row_of_turn(record, turn, at))


def keep_gauges(db: sqlite3.Connection, fact: GaugesRead | LimitsObserved, at: float) -> None:
    """Write what a run or a session told of its plan's windows; an older reading never replaces a newer one."""
    measured = at if isinstance(fact, LimitsObserved) else min(fact.measured_at, at)
    source = "session" if isinstance(fact, LimitsObserved) else "run"
    for window in fact.windows:
        if (used := _used(window)) is not None:
            key = key_of(fact.lane, fact.pool)
            db.execute(_SAVE_GAUGE, (key, window.name[:64], used, window.resets_at, measured, source))


def fill(db: sqlite3.Connection) -> None:
    """Make the ledger of everything that the store knows: jobs that were removed since, too."""
    for record, at in _replayed(db):
        keep(db, None, record, at)
    for (body,) in db.execute("SELECT record FROM jobs ORDER BY accepted_at, job_id").fetchall():
        try:
            record = JobRecord.model_validate_json(body)
        except (ValidationError, TypeError):
            continue
        keep(db, None, record, record.ended or record.accepted_at)


def _replayed(db: sqlite3.Connection) -> Iterator[tuple[JobRecord, float]]:
    """Yield each job of the journal as it was last known, in the order in which they were accepted."""
    names = "SELECT job_id FROM facts WHERE kind = 'job.accepted' ORDER BY seq"
    for (job_id,) in db.execute(names).fetchall():
        facts = db.execute("SELECT at, body FROM facts WHERE job_id = ? ORDER BY seq", (job_id,))
        record, at = _record(facts)
        if record is not None:
            yield record, at


def _record(facts: Iterable[tuple[float, str]]) -> tuple[JobRecord | None, float]:
    record, last = None, 0.0
    for at, body in facts:
        try:
            fact = FACT.validate_json(body)
        except (ValidationError, TypeError):
            continue
        if isinstance(fact, JobAccepted) and record is not None:
            continue
        changed = apply(record, fact, at)
        if changed is not None:
            record, last = changed, at
    return record, last


def _counted_by(db: sqlite3.Connection, job_id: str) -> Mapping[str, int] | None:
    """Return what a job's conversation had counted when it ended."""
    row = db.execute("SELECT total FROM ledger WHERE job_id = ? ORDER BY attempt DESC LIMIT 1", (job_id,)).fetchone()
    return total_in(row[0]) if row else None


def _save(db: sqlite3.Connection, row: Row) -> None:
    counts = row.counts or {}
    db.execute(
        _SAVE,
        (
            *(row.job_id, row.attempt, row.at, row.lane, row.model, row.group_id, int(row.ok), row.spent, row.pool),
            *(row.cash_nano, int(row.counts is not None)),
            *(counts.get(name, 0) for name in COUNTS),
            row.total_json,
        ),
    )


def _used(window: GaugeWindow) -> float | None:
    """Return how far a window is used; what can't be true is unknown, and more than all is all."""
    share = window.utilization
    return None if share is None or not 0 <= share < 1e6 else min(share, 1.0)
