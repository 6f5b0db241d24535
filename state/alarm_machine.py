"""Which alarms there are and when each is pushed. Pure: conditions and times in, decisions out.

    decisions = decide(book, conditions, moment, policy)      # journal them, then apply them
    book[id] = applied(book.get(id), fact, at)

The rules:

* A condition is one state of one entity. It is raised once it has held for a moment, pushed once, and pushed again on
  the ladder while it holds and nobody acknowledged it. One that is told ``once`` is never pushed again.
* A condition that is hard (a question) is another alarm when it began at another time: the next question. One that is
  soft (silence) goes on as the same alarm when it comes back soon: it flaps, and whoever is woken heard of it.
* A condition that is over ends its alarm. One that passes (a death) is raised and ended at once, and never known twice.
* What a machine slept through is not made up for: a rung that is overdue is pushed once, and the ladder goes on from
  there. Soft conditions must hold for a while after the sleep, too.
* A push that is not known to be done keeps the next one waiting.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never

from ..messages.alarm import (
    FLEET,
    AlarmAcknowledged,
    AlarmEnded,
    AlarmFact,
    AlarmKind,
    AlarmRaised,
    AlarmRecord,
    AlarmState,
    AlarmTold,
    HeartbeatArmed,
    HeartbeatStopped,
)

_ODD = re.compile(r"[^A-Za-z0-9._-]")
_BACK_S = 60.0
"""A push that lies so far in the future was told by a clock that was wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Every window, in seconds."""

    ladder_s: tuple[float, ...] = (300.0, 900.0, 3600.0, 14400.0, 43200.0)
    """From each push to the next; after the last there is none."""
    settle_s: float = 0.5
    """How long a hard condition must hold: a flicker between two looks is none."""
    soft_settle_s: float = 20.0
    flap_s: float = 300.0
    """A soft condition that comes back within so long after its end is the same alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What is so, of one entity, since when."""

    entity: str
    state: AlarmState
    since: float
    kind: AlarmKind = "fleet-state"
    once: bool = False
    soft: bool = False
    passing: bool = False
    """Whether the entity is gone with it, so that nothing will say that it is over."""
    job_id: str | None = None
    session_id: str | None = None
    lane: str | None = None
    label: str = ""
    summary: str
    evidence: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Which alarm of those that are open it may be."""
        return self.entity, self.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When it is decided, and for whom."""

    now: float
    """Epoch seconds."""
    awake_since: float = 0.0
    """Epoch seconds when the machine last came back from a sleep; 0: it did not sleep."""
    sinks: bool = True
    """Whether there is anybody to push to."""
    generation: str = "0"


@dataclass(frozen=True, slots=True)
class Raise:
    """The alarm is to be journalled like this; with a push, where its ``pushes`` went up."""

    record: AlarmRecord


@dataclass(frozen=True, slots=True)
class End:
    """The alarm is over."""

    alarm_id: str
    why: str


Decision = Raise | End
Book = Mapping[str, AlarmRecord]


def decide(book: Book, conditions: Iterable[Condition], moment: Moment, policy: Policy) -> tuple[Decision, ...]:
    """Return what is to be journalled now, ends first. Deciding again about what came of it returns nothing."""
    held = {condition.key: condition for condition in conditions}
    opened = _opened(book)
    ends: list[Decision] = []
    raises: list[Decision] = []
    for key, record in opened.items():
        condition = held.get(key)
        if condition is None:
            ends.append(End(record.alarm_id, "it is so no more"))
        elif not _same(record, condition):
            ends.append(End(record.alarm_id, "it is about something else now"))
    for key, condition in held.items():
        known = opened.get(key)
        made = (
            _again(known, condition, moment, policy)
            if known is not None and _same(known, condition)
            else _anew(book, condition, moment, policy)
        )
        if made is not None:
            raises.append(Raise(made))
    return (*ends, *raises)


def next_due(book: Book, conditions: Iterable[Condition], moment: Moment, policy: Policy) -> float | None:
    """Return when to decide again if nothing happens before (epoch seconds); None: never."""
    opened = _opened(book)
    due: list[float] = []
    for condition in conditions:
        record = opened.get(condition.key)
        if record is None:
            if alarm_id(condition) not in book or condition.soft:
                due.append(_settled_at(condition, moment, policy))
        elif (rung := _rung(record, policy)) is not None and moment.sinks and not record.owed:
            due.append((record.pushed_at or moment.now) + rung)
    return min(due, default=None)


def applied(record: AlarmRecord | None, fact: AlarmFact, at: float) -> AlarmRecord | None:
    """Return an alarm as a fact makes it; itself where nothing changes."""
    match fact:
        case AlarmRaised():
            return fact.record
        case AlarmTold():
            return record and record.model_copy(update={"told": max(record.told, fact.push)})
        case AlarmAcknowledged():
            return record and record.model_copy(update={"acknowledged_at": at})
        case AlarmEnded():
            return record and record.model_copy(update={"ended_at": at, "ended_why": fact.why})
        case HeartbeatArmed() | HeartbeatStopped():
            return record
        case _:
            assert_never(fact)


def alarm_id(condition: Condition) -> str:
    """Return the id of the alarm that a condition is: the same in every supervisor.

    >>> alarm_id(Condition(entity="job:20261130-101500-0123456789ab", state="dead", since=5.25, summary=""))
    'job.20261130-101500-0123456789ab.dead.5250'
    """
    whole = f"{condition.entity}.{condition.state}.{round(condition.since * 1000)}"
    plain = _ODD.sub(".", whole)
    if plain == whole.replace(":", ".", 1) and len(plain) <= 150:
        return plain
    return f"{plain[:120]}.{hashlib.sha256(whole.encode()).hexdigest()[:12]}"


def fresh(condition: Condition, moment: Moment) -> AlarmRecord:
    """Return the alarm that a condition begins, with its first push where there is somebody to push to."""
    return AlarmRecord(
        alarm_id=alarm_id(condition),
        entity=condition.entity,
        state=condition.state,
        since=condition.since,
        kind=condition.kind,
        once=condition.once,
        soft=condition.soft,
        job_id=condition.job_id,
        session_id=condition.session_id,
        lane=condition.lane,
        label=condition.label,
        summary=condition.summary,
        evidence=condition.evidence,
        generation=moment.generation,
        raised_at=moment.now,
        pushes=1 if moment.sinks else 0,
        pushed_at=moment.now if moment.sinks else None,
        ended_at=moment.now if condition.passing else None,
        ended_why="told" if condition.passing else None,
    )


def worth_pushing(record: AlarmRecord) -> bool:
    """Whether a push that an earlier supervisor decided should still be made."""
    over = not record.open and not record.once
    return record.acknowledged_at is None and not over


def _opened(book: Book) -> dict[tuple[str, str], AlarmRecord]:
    return {(record.entity, record.state): record for record in book.values() if record.open}


def _same(record: AlarmRecord, condition: Condition) -> bool:
    return condition.soft or condition.once or record.since == condition.since


def _again(record: AlarmRecord, condition: Condition, moment: Moment, policy: Policy) -> AlarmRecord | None:
    """Return the alarm with its next push, if that is due."""
    if record.acknowledged_at is not None or record.owed or not moment.sinks:
        return None
    rung = _rung(record, policy)
    if rung is None:
        return None
    passed = moment.now - (record.pushed_at if record.pushed_at is not None else moment.now)
    if record.pushes and not (passed >= rung or passed < -_BACK_S):
        return None
    changes = {"pushes": record.pushes + 1, "pushed_at": moment.now, "generation": moment.generation}
    return record.model_copy(update={**changes, "summary": condition.summary, "evidence": condition.evidence})


def _anew(book: Book, condition: Condition, moment: Moment, policy: Policy) -> AlarmRecord | None:
    """Return the alarm that begins with a condition; None where it has not held for long enough, or is known."""
    passed = moment.now - _settled_at(condition, moment, policy)
    if -_BACK_S < passed < 0:
        return None
    earlier = _earlier(book, condition, moment, policy) if condition.soft else None
    if earlier is not None:
        going_on = earlier.model_copy(update={"ended_at": None, "ended_why": None, "since": condition.since})
        return _again(going_on, condition, moment, policy) or going_on
    if alarm_id(condition) in book:
        return None
    return fresh(condition, moment)


def _earlier(book: Book, condition: Condition, moment: Moment, policy: Policy) -> AlarmRecord | None:
    """Return the alarm that a soft condition goes on with."""
    found = [
        record
        for record in book.values()
        if (record.entity, record.state) == condition.key
        and record.ended_at is not None
        and abs(moment.now - record.ended_at) < policy.flap_s
    ]
    return max(found, key=lambda record: record.ended_at or 0.0, default=None)


def _settled_at(condition: Condition, moment: Moment, policy: Policy) -> float:
    if condition.passing:
        return condition.since
    if condition.soft:
        return max(condition.since, moment.awake_since) + policy.soft_settle_s
    return condition.since + policy.settle_s


def _rung(record: AlarmRecord, policy: Policy) -> float | None:
    """Return how long after its newest push the next is due; None: there is none."""
    if record.acknowledged_at is not None or record.entity == FLEET:
        return None
    if record.pushes == 0:
        return 0.0
    if record.once or record.pushes > len(policy.ladder_s):
        return None
    return policy.ladder_s[record.pushes - 1]
