"""A session's record as its facts make it. Pure: replayed, the same facts make the same record."""

from __future__ import annotations

from typing import Any

from ..messages.session import (
    SessionAccepted,
    SessionEnded,
    SessionEnding,
    SessionFact,
    SessionGiven,
    SessionHeld,
    SessionLaunching,
    SessionObserved,
    SessionRecord,
    SessionStateChanged,
)
from ..messages.vocabulary import SessionState


def apply_session(record: SessionRecord | None, fact: SessionFact, at: float) -> SessionRecord | None:
    """Return the record after ``fact``, which happened ``at`` epoch seconds.

    A fact about a session that is not there, and late news of an ended one, change nothing.
    """
    if isinstance(fact, SessionAccepted):
        return record if record is not None else fact.record
    if record is None:
        return None
    changes = _changes(record, fact, at)
    return record.model_copy(update=changes) if changes else record


def _changes(record: SessionRecord, fact: SessionFact, at: float) -> dict[str, Any]:  # noqa: PLR0911 - one a fact
    match fact:
        case SessionLaunching(attempt=attempt):
            if attempt <= record.attempt:
                return {}
            return _launching(attempt) | ({"effort": fact.effort} if fact.effort is not None else {})
        case SessionHeld() if fact.attempt == record.attempt:
            return {"holder": fact.holder, "delegate": fact.delegate, "started": record.started or at}
        case SessionGiven():
            return {"given": max(record.given, fact.number)}
        case SessionStateChanged() if not record.state.ended and not fact.state.ended:
            return {"state": fact.state, "evidence": fact.evidence}
        case SessionObserved():
            return _observed(record, fact)
        case SessionEnding():
            return {} if record.ending else {"ending": fact.cause}
        case SessionEnded() if fact.attempt == record.attempt and not record.state.ended:
            return {
                "state": fact.state,
                "evidence": None,
                "reason": fact.reason,
                "exit_code": fact.exit_code,
                "ended": at,
                "note": fact.note or record.note,
            }
        case _:
            return {}


def _launching(attempt: int) -> dict[str, Any]:
    return {
        "attempt": attempt,
        "state": SessionState.STARTING,
        "holder": None,
        "delegate": None,
        "ended": None,
        "reason": None,
        "ending": None,
        "exit_code": None,
        "note": None,
        "mode": None,
    }


def _observed(record: SessionRecord, fact: SessionObserved) -> dict[str, Any]:
    seen = {
        "model_observed": fact.model_observed,
        "model": fact.model,
        "model_pin": fact.model_pin,
        "effort": fact.effort,
        "mode": fact.mode,
        "conversation": fact.conversation,
    }
    return {"turns": max(record.turns, fact.turns)} | {name: value for name, value in seen.items() if value is not None}
