"""Looking at alarms. Plain dicts, no pydantic: the front end uses this without a supervisor."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import Any

from .reader import Reader

FIRST_SCHEMA = 7
"""The first that has these tables: a store that no supervisor has brought up to date yet holds none."""
MOST = 5000
"""So many alarms are looked at, the latest."""

STATE_FACTS = (
    "job.state_changed",
    "job.spawned",
    "job.held",
    "job.hopped",
    "session.state_changed",
    "session.accepted",
)
"""Facts that bring a job or session into the state that it is in."""
_STEP = (
    "SELECT job_id FROM facts WHERE kind = 'loop.step_began' AND json_extract(body, '$.step.job_id') = ?"
    " ORDER BY seq DESC LIMIT 1"
)
_PIN = (
    "SELECT at FROM facts WHERE job_id = ? AND kind = 'session.observed'"
    " AND json_extract(body, '$.model_pin') = 'drifted' ORDER BY seq DESC LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class Beat:
    """The heartbeat as it was last journalled."""

    armed: bool
    upto: int
    """The newest fact that it has looked at."""
    at: float
    """Epoch seconds when it was armed or stopped."""


def beat(reader: Reader) -> Beat | None:
    """Return the heartbeat; None: it was never armed."""
    if reader.schema < FIRST_SCHEMA:
        return None
    rows = reader.select("SELECT armed, upto, at FROM heartbeat")
    return Beat(bool(rows[0][0]), int(rows[0][1]), float(rows[0][2])) if rows else None


def open_alarms(reader: Reader) -> list[dict[str, Any]]:
    """Return the alarms that have not ended, the oldest first."""
    return _records(reader, "SELECT record FROM alarms WHERE ended IS NULL ORDER BY since, alarm_id LIMIT ?")


def all_alarms(reader: Reader) -> list[dict[str, Any]]:
    """Return every alarm that is kept, the latest first."""
    return _records(reader, "SELECT record FROM alarms ORDER BY (ended IS NULL) DESC, since DESC LIMIT ?")


def changed_at(reader: Reader, owner: str) -> float | None:
    """Return when a job or session came into the state that it is in (epoch seconds), as the journal knows it."""
    marks = ", ".join("?" * len(STATE_FACTS))
    statement = f"SELECT at FROM facts WHERE job_id = ? AND kind IN ({marks}) ORDER BY seq DESC LIMIT 1"  # noqa: S608  our own words
    rows = reader.select(statement, (owner, *STATE_FACTS))
    return float(rows[0][0]) if rows else None


def drifted_at(reader: Reader, session_id: str) -> float | None:
    """Return when a session was last seen to answer with another model than it was asked for."""
    rows = reader.select(_PIN, (session_id,))
    return float(rows[0][0]) if rows else None


def loop_of(reader: Reader, job_id: str) -> str | None:
    """Return the loop that had a job done as one of its steps; None: it is nobody's step."""
    rows = reader.select(_STEP, (job_id,))
    return str(rows[0][0]) if rows else None


def _records(reader: Reader, statement: str) -> list[dict[str, Any]]:
    if reader.schema < FIRST_SCHEMA:
        return []
    found = []
    for (body,) in reader.select(statement, (MOST,)):
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            record = json.loads(body)
            if isinstance(record, dict):
                found.append(record)
    return found
