"""Groups in the store: written in the journal's transaction, each row as its facts make it."""

from __future__ import annotations

import sqlite3
from typing import assert_never

from pydantic import ValidationError

from ..messages.group import FanoutAccepted, FanoutCancelRequested, FanoutEnded, GroupFact, GroupRecord

_SAVE = """
INSERT INTO groups (group_id, label, accepted_at, ended, record) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (group_id) DO UPDATE SET ended = excluded.ended, record = excluded.record
"""


def keep(db: sqlite3.Connection, fact: GroupFact, at: float) -> None:
    """Do what a fact about a group says, in the open transaction."""
    known = load(db, fact.group_id)
    changed = apply_group(known, fact, at)
    if changed is not None and changed is not known:
        row = (changed.group_id, changed.label, changed.accepted_at, changed.ended, changed.model_dump_json())
        db.execute(_SAVE, row)


def leave(db: sqlite3.Connection, group_id: str) -> None:
    """Forget a group that has ended and whose last job was removed."""
    left = "SELECT 1 FROM jobs WHERE group_id = ?1"
    db.execute(f"DELETE FROM groups WHERE group_id = ?1 AND ended IS NOT NULL AND NOT EXISTS ({left})", (group_id,))  # noqa: S608 - our own words


def load(db: sqlite3.Connection, group_id: str) -> GroupRecord | None:
    """Return one group, uncommitted changes included; None when there is none or it can't be read."""
    row = db.execute("SELECT record FROM groups WHERE group_id = ?", (group_id,)).fetchone()
    try:
        return None if row is None else GroupRecord.model_validate_json(row[0])
    except (ValidationError, TypeError):
        return None


def apply_group(record: GroupRecord | None, fact: GroupFact, at: float) -> GroupRecord | None:
    """Return the record after ``fact``, which happened ``at`` epoch seconds. The same object: nothing changed.

    A fact about a group that is not there, or that has ended, changes nothing.
    """
    if isinstance(fact, FanoutAccepted):
        return fact.record if record is None else record
    if record is None or record.ended is not None:
        return record
    match fact:
        case FanoutCancelRequested():
            return record if record.cancel_requested else record.model_copy(update={"cancel_requested": True})
        case FanoutEnded():
            return record.model_copy(update={"ended": at})
        case _:
            assert_never(fact)
