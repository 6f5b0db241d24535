"""Alarms in the store: written in the journal's transaction, each row as its facts make it."""

from __future__ import annotations

import sqlite3

from pydantic import ValidationError

from ..messages.alarm import AlarmFact, AlarmRaised, AlarmRecord, HeartbeatArmed, HeartbeatStopped
from .alarm_machine import applied

KEPT_S = 30 * 86400.0
"""How long an alarm that has ended is kept."""

_SAVE = """
INSERT INTO alarms (alarm_id, entity, state, since, ended, owed, record) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (alarm_id) DO UPDATE SET
    since = excluded.since, ended = excluded.ended, owed = excluded.owed, record = excluded.record
"""
_BEAT = """
INSERT INTO heartbeat (one, armed, upto, at) VALUES (1, ?, ?, ?)
ON CONFLICT (one) DO UPDATE SET armed = excluded.armed, upto = max(heartbeat.upto, excluded.upto), at = excluded.at
"""
_REACHED = "UPDATE heartbeat SET upto = max(upto, ?) WHERE one = 1"


def keep(db: sqlite3.Connection, fact: AlarmFact, at: float) -> None:
    """Do what a fact of the heartbeat says, in the open transaction."""
    if isinstance(fact, HeartbeatArmed | HeartbeatStopped):
        armed = isinstance(fact, HeartbeatArmed)
        db.execute(_BEAT, (armed, fact.upto if isinstance(fact, HeartbeatArmed) else 0, at))
        return
    name = fact.record.alarm_id if isinstance(fact, AlarmRaised) else fact.alarm_id
    known = load(db, name)
    changed = applied(known, fact, at)
    if isinstance(fact, AlarmRaised):
        db.execute(_REACHED, (fact.upto,))
        db.execute("DELETE FROM alarms WHERE ended < ? AND owed = 0", (at - KEPT_S,))
        if fact.record.state == "digest":  # only the newest tells which picture was pushed last
            db.execute("DELETE FROM alarms WHERE state = 'digest' AND owed = 0 AND alarm_id <> ?", (name,))
    if changed is None or changed is known:
        return
    row = (name, changed.entity, changed.state, changed.since, changed.ended_at, changed.owed)
    db.execute(_SAVE, (*row, changed.model_dump_json()))


def load(db: sqlite3.Connection, alarm_id: str) -> AlarmRecord | None:
    """Return one alarm; None when there is none, or it can't be read."""
    found = db.execute("SELECT record FROM alarms WHERE alarm_id = ?", (alarm_id,)).fetchone()
    try:
        return AlarmRecord.model_validate_json(found[0]) if found else None
    except (ValidationError, TypeError):
        return None


def owner(fact: AlarmFact) -> str | None:
    """Return the job or session that a fact is listed with."""
    return (fact.record.job_id or fact.record.session_id) if isinstance(fact, AlarmRaised) else None
