"""A job's record as its facts make it: one pure fold, total over every order of facts.

Rules
- Only ``job.accepted`` makes a record; a second one of the same job changes nothing.
- A record in a live state changes by any fact except one that is older than what it knows.
- A record that has ended changes only by ``job.ended`` with ``revises`` set, and by ``job.removed``.
- Only ``job.ended`` ends a job: a ``job.state_changed`` to an ended state changes nothing.
- A fact that comes too late changes nothing. It still stands in the journal.
"""

from __future__ import annotations

from typing import Any, assert_never

from ..messages.alarm import AlarmFact
from ..messages.facts import (
    ChildCrashed,
    Fact,
    GaugesRead,
    JobAccepted,
    JobCancelRequested,
    JobEnded,
    JobEnding,
    JobHeld,
    JobHopped,
    JobLaunching,
    JobOutcome,
    JobProgressed,
    JobRemoved,
    JobSpawned,
    JobStateChanged,
    LaneDown,
    LaneUp,
    QueuePaused,
    QueueResumed,
    QuotaCleared,
    QuotaExhausted,
    QuotaSet,
    StoreRebuilt,
    SupervisorStarted,
    SupervisorStopped,
)
from ..messages.group import FanoutAccepted, FanoutCancelRequested, FanoutEnded, FanoutMemberReleased
from ..messages.history import HistoryImported
from ..messages.job import Attempted, Cost, JobRecord, Progress
from ..messages.loop import LoopFact
from ..messages.session import SessionFact
from ..messages.vocabulary import JobState

_NOTHING_SEEN = Progress()
_COST_UNKNOWN = Cost()


def apply(record: JobRecord | None, fact: Fact, at: float) -> JobRecord | None:  # noqa: PLR0911 - one a kind
    """Return the record after ``fact``, which happened ``at`` epoch seconds. None: there is no such job (any more).

    Never raises. The same object comes back when nothing changed. The fact must be of the record's job.
    """
    if isinstance(fact, SessionFact | LoopFact | AlarmFact):
        return record  # not of a job: ``session_records.py``, ``loop_records.py``, ``alarms_store.py``
    match fact:
        case JobAccepted():
            return fact.record if record is None else record
        case JobRemoved():
            return None
        case (
            SupervisorStarted()
            | SupervisorStopped()
            | StoreRebuilt()
            | ChildCrashed()
            | LaneDown()
            | LaneUp()
            | QuotaSet()
            | QuotaCleared()
            | QuotaExhausted()
            | JobOutcome()
            | HistoryImported()
            | FanoutAccepted()
            | FanoutCancelRequested()
            | FanoutEnded()
            | GaugesRead()
            | QueuePaused()
            | QueueResumed()
        ):
            return record
        case JobEnded():
            return None if record is None else _ended(record, fact, at)
        case (
            JobLaunching()
            | JobSpawned()
            | JobStateChanged()
            | JobProgressed()
            | JobCancelRequested()
            | JobEnding()
            | JobHopped()
            | JobHeld()
            | FanoutMemberReleased()
        ):
            if record is None or record.state.terminal:
                return record
            changes = _changes(record, fact, at)
            return record.model_copy(update=changes) if changes else record
        case _:
            assert_never(fact)


_TERMS = (
    "lane",
    "vehicle",
    "provider",
    "posture",
    "model",
    "tier",
    "effort",
    "local",
    "streamed",
    "agentic",
    "cost",
    "pool",
    "marker_id",
)
"""What of a job is new with a hop; all else was asked for, and stays."""

_UNSEEN: dict[str, Any] = {
    "shim": None,
    "delegate": None,
    "model_observed": None,
    "conversation": None,
    "progress": Progress(),
    "ending": None,
    "reason": None,
}
"""What was seen of an attempt that is over."""


def _changes(  # noqa: C901, PLR0911  one flat match
    record: JobRecord,
    fact: JobLaunching
    | JobSpawned
    | JobStateChanged
    | JobProgressed
    | JobCancelRequested
    | JobEnding
    | JobHopped
    | JobHeld
    | FanoutMemberReleased,
    at: float,
) -> dict[str, Any]:
    """Return what ``fact`` changes in a live record."""
    match fact:
        case JobLaunching():
            launched = {"state": JobState.LAUNCHING, "attempt": fact.attempt, "shim": None, "delegate": None}
            if record.wake_at is not None:
                launched |= {"wake_at": None, "reason": None}
            return launched if fact.attempt > record.attempt else {}
        case JobSpawned():
            spawned: dict[str, Any] = {"shim": fact.shim, "delegate": fact.delegate}
            if record.started is None:
                spawned["started"] = at
            if record.state in (JobState.QUEUED, JobState.LAUNCHING):
                spawned["state"] = JobState.RUNNING
            return spawned
        case JobStateChanged():
            return {} if fact.state.terminal else {"state": fact.state, "reason": fact.reason}
        case JobProgressed():
            return {"progress": fact.progress, **_observed(fact)}
        case JobCancelRequested():
            return {"cancel_requested": True}
        case JobEnding():
            return {} if record.ending else {"ending": fact.cause}
        case FanoutMemberReleased():
            return {"parked": False} if record.parked else {}
        case JobHopped():
            terms = {name: getattr(fact.record, name) for name in _TERMS}
            return {**_UNSEEN, **terms, "hops": _with(record, fact.over)}
        case JobHeld():
            held = {"state": JobState.WAITING_LIMIT, "wake_at": fact.until, "reason": fact.why}
            return {**(_UNSEEN if fact.over else {}), **held, "hops": _with(record, fact.over)}


def _with(record: JobRecord, over: Attempted | None) -> tuple[Attempted, ...]:
    """Return the record's earlier attempts with one more; one that is there already is not doubled."""
    known = {attempted.attempt for attempted in record.hops}
    return (*record.hops, over) if over is not None and over.attempt not in known else record.hops


def _ended(record: JobRecord, fact: JobEnded, at: float) -> JobRecord:
    if not fact.state.terminal or (record.state.terminal and not fact.revises):
        return record
    changes: dict[str, Any] = {
        "state": fact.state,
        "exit": fact.exit,
        "reason": fact.reason,
        "outcome": fact.outcome,
        "ended": at if fact.ended_at is None else fact.ended_at,
        "wake_at": None,
        **_observed(fact),
    }
    # A verdict that knows less than what was seen before (a watchdog's, a recovery's) does not erase it.
    if fact.exit_status is not None:
        changes["exit_status"] = fact.exit_status
    if fact.progress != _NOTHING_SEEN:
        changes["progress"] = fact.progress
    if fact.cost != _COST_UNKNOWN:
        changes["cost"] = fact.cost
    if fact.note is not None:
        changes["note"] = fact.note
    return record.model_copy(update=changes)


def _observed(fact: JobProgressed | JobEnded) -> dict[str, Any]:
    seen = {"model_observed": fact.model_observed, "conversation": fact.conversation}
    return {name: value for name, value in seen.items() if value is not None}
