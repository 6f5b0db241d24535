"""Looking at groups. No pydantic: the front end uses this without a supervisor."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from ..messages.entity_ids import GROUP, whole
from .reader import CANDIDATES, Reader

FIRST_SCHEMA = 5
"""The first that has the table: a store that no supervisor has brought up to date yet holds none."""

Group = dict[str, Any]
"""A ``messages.group.GroupRecord`` as its JSON object."""

_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_NEWEST = "ORDER BY accepted_at DESC, group_id DESC LIMIT ?"


def group(reader: Reader, group_id: str) -> Group | None:
    """Return one group by its full id, or None."""
    found = _groups(reader, "group_id = ? LIMIT ?", (group_id, 1))
    return found[0] if found else None


def groups(reader: Reader, limit: int = 40) -> list[Group]:
    """Return the newest ``limit`` groups (0: all)."""
    return _groups(reader, f"1 {_NEWEST}", (limit if limit > 0 else -1,))


def live_groups(reader: Reader) -> list[Group]:
    """Return every group with a member that has not ended, oldest first."""
    return _groups(reader, "ended IS NULL ORDER BY accepted_at LIMIT ?", (-1,))


def lost_groups(reader: Reader) -> list[str]:
    """Return the ids of groups that jobs name and that there is no record of: the store was rebuilt."""
    if reader.schema < FIRST_SCHEMA:
        return []
    rows = reader.select(
        "SELECT DISTINCT group_id FROM jobs WHERE group_id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM groups WHERE groups.group_id = jobs.group_id) ORDER BY group_id"
    )
    return [str(row[0]) for row in rows]


def resolve_group(reader: Reader, token: str) -> list[Group]:
    """Return the groups a person may mean: the id; else that label, newest first; else a prefix of the id.

    The id's own first word (``fanout-``) may be left out. At most ``CANDIDATES``; empty when there is none.
    """
    if not token or not token.isprintable():
        return []
    exact = group(reader, token)
    if exact is not None:
        return [exact]
    labelled = _groups(reader, f"label = ? {_NEWEST}", (token, CANDIDATES))
    if labelled or not _CHARACTERS.issuperset(token):
        return labelled
    beginning = whole(token, GROUP)
    beyond = beginning[:-1] + chr(ord(beginning[-1]) + 1)
    return _groups(reader, f"group_id >= ? AND group_id < ? {_NEWEST}", (beginning, beyond, CANDIDATES))


def member_records(reader: Reader, group_id: str) -> dict[str, dict[str, Any]]:
    """Return the record of every member that there is, by id."""
    found = {}
    for job_id, state, body in reader.select("SELECT job_id, state, record FROM jobs WHERE group_id = ?", (group_id,)):
        record: Any = None
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            record = json.loads(body)
        damaged = {"job_id": job_id, "state": state, "note": "this job's record is damaged"}
        found[str(job_id)] = record if isinstance(record, dict) else damaged
    return found


def member_states(reader: Reader, group_id: str) -> dict[str, tuple[bool, bool]]:
    """Return for every member that there is whether it has ended, and whether it waits for its turn."""
    rows = reader.select(
        "SELECT job_id, ended IS NOT NULL, json_extract(record, '$.parked') FROM jobs WHERE group_id = ?", (group_id,)
    )
    return {str(job_id): (bool(ended), bool(parked)) for job_id, ended, parked in rows}


def _groups(reader: Reader, condition: str, values: tuple[Any, ...]) -> list[Group]:
    if reader.schema < FIRST_SCHEMA:
        return []
    # ``condition`` is one of this file's own; every value is bound.
    rows = reader.select(f"SELECT group_id, record FROM groups WHERE {condition}", values)  # noqa: S608 - see above
    found = []
    for group_id, body in rows:
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            record = json.loads(body)
            if isinstance(record, dict) and record.get("group_id") == group_id:
                found.append(record)
    return found
