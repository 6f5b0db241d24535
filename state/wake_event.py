"""What whoever is woken is given: one event as JSON, and one line. Pure.

The shape is the predecessor's, so that its users' notifiers go on working; ``push_id``, ``alarm_id``, ``push``,
``since`` and ``label`` are beyond it. ``push_id`` is the one to tell two pushes apart by.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ..messages.alarm import AlarmRecord
from ..messages.vocabulary import SCHEMA_VERSION

SUMMARY_CHARS = 160
EVIDENCE_CHARS = 500
_STALE = ("needs-answer", "maybe-stuck")
_WORDS = {
    "needs-answer": "blocked?",
    "maybe-stuck": "unresponsive?",
    "blocked": "blocked",
    "permission-blocked": "blocked",
    "dead": "dead",
    "limit": "limit",
    "drift": "blocked",
    "unknown": "unknown",
    "digest": "working",
    "sink": "unknown",
}
_ODD = re.compile(r"[^A-Za-z0-9._-]")


def event(record: AlarmRecord) -> dict[str, Any]:
    """Return the event of an alarm's newest push."""
    told: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "event_id": event_id(record),
        "kind": record.kind,
        "generation": record.generation,
        "state": _WORDS[record.state],
        "job_id": record.job_id,
        "session_id": record.session_id,
        "task_summary": record.summary[:SUMMARY_CHARS],
        "created_at": record.pushed_at,
        "push_id": record.push_id,
        "push": record.pushes,
        "alarm_id": record.alarm_id,
        "alarm": record.state,
        "since": record.since,
        "label": record.label,
        "lane": record.lane,
    }
    if record.evidence is not None:
        told["evidence"] = record.evidence[:EVIDENCE_CHARS]
    return told


def event_id(record: AlarmRecord) -> str:
    """Return the id that the predecessor's contract gives this kind of event: ``[A-Za-z0-9._-]+``."""
    whose = record.job_id or record.session_id or record.entity.partition(":")[2] or record.entity
    word = _WORDS[record.state]
    match record.kind:
        case "model-drift":
            name = f"model-drift.{whose}.{record.generation}"
        case "heartbeat-digest":
            name = f"heartbeat.digest.{record.generation}"
        case "heartbeat-sink":
            name = f"heartbeat.{record.generation}.{record.label}"
        case _ if record.state in _STALE:
            name = f"heartbeat.stale.{whose}.{word}"
        case _:
            name = f"heartbeat.{record.generation}.{whose}.{word}"
    return _ODD.sub("_", name)


def line(record: AlarmRecord) -> str:
    """Return the event as one line of JSON, without its line end."""
    return json.dumps(event(record), ensure_ascii=False, separators=(",", ":"))
