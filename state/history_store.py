"""Rows of another tool's books, in the store: written in the journal's transaction, counted by anyone.

No pydantic at run time: the front end uses the reading half without a supervisor.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from .reader import Reader

if TYPE_CHECKING:
    from ..messages.history import HistoryImported

FIRST_SCHEMA = 6
PREFIX = "import-"
"""How the ids of such runs begin."""
OPEN = "image-"
"""How the ids of those begin whose row is written before they are asked for, of unknown cost, and again after it."""
_RUN = f"""
INSERT INTO ledger (job_id, attempt, at, lane, model, group_id, ok, spent, pool, cash_nano, known,
    input, cached_input, cache_write, output, reasoning, total)
VALUES (?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, NULL)
ON CONFLICT (job_id, attempt) DO UPDATE
SET at = excluded.at, ok = excluded.ok, spent = excluded.spent, cash_nano = excluded.cash_nano
WHERE ledger.spent = 'unknown' AND ledger.job_id GLOB '{OPEN}*'
"""  # noqa: S608 - our own word
_OUTCOME = """
INSERT INTO outcomes (job_id, outcome, source, kind, project, lane, model, at)
VALUES (?, ?, 'import', ?, NULL, ?, ?, ?)
ON CONFLICT (job_id) DO UPDATE SET outcome = excluded.outcome, at = excluded.at WHERE excluded.at > outcomes.at
"""


def keep(db: sqlite3.Connection, fact: HistoryImported) -> None:
    """Write what is not there yet; of an outcome the newer word counts, of an image what was known at its end."""
    for run in fact.runs:
        row = (run.run_id, run.attempt, run.at, run.lane, run.model, int(run.ok), run.spent, run.pool, run.cash_nano)
        db.execute(_RUN, row)
    for told in fact.outcomes:
        db.execute(_OUTCOME, (told.run_id, told.outcome, told.task_kind, told.lane, told.model, told.at))


def known_runs(reader: Reader) -> set[tuple[str, int]]:
    """Return the run and attempt of every row that was imported before."""
    if reader.schema < FIRST_SCHEMA:
        return set()
    rows = reader.select(f"SELECT job_id, attempt FROM ledger WHERE job_id GLOB '{PREFIX}*'", ())  # noqa: S608 - our own word
    return {(str(run), int(attempt)) for run, attempt in rows}


def known_outcomes(reader: Reader) -> dict[str, float]:
    """Return the time of every outcome that was imported before, by its run."""
    if reader.schema < FIRST_SCHEMA:
        return {}
    rows = reader.select(f"SELECT job_id, at FROM outcomes WHERE job_id GLOB '{PREFIX}*'", ())  # noqa: S608 - as above
    return {str(run): float(at) for run, at in rows}
