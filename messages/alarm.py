"""An alarm as data: something that needs whoever is in charge, and what is told of it.

An alarm is one state of one entity since one moment. It is journalled before anybody is woken, pushed to every sink
once, pushed again on a ladder while it is still true and nobody acknowledged it, and ended with what it was about.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from .base import Message, Observation

AlarmId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,200}$")]

AlarmState = Literal[
    "needs-answer",
    "maybe-stuck",
    "blocked",
    "permission-blocked",
    "dead",
    "limit",
    "drift",
    "unknown",
    "digest",
    "sink",
]
AlarmKind = Literal["fleet-state", "model-drift", "limit", "heartbeat-digest", "heartbeat-sink"]

FLEET = "fleet"
"""The entity of what is about all of it: digests, and sinks that fail."""


class AlarmRecord(Observation):
    """Everything that is kept of an alarm. Built by ``state/alarm_machine.py`` alone."""

    alarm_id: AlarmId
    """Made of entity, state and moment: the same alarm has the same id in every supervisor."""
    entity: str
    """``job:ID``, ``session:ID``, ``lane:KEY``, ``fleet`` or ``fleet:SINK``."""
    state: AlarmState
    since: float
    """Epoch seconds since when it has been so."""
    kind: AlarmKind = "fleet-state"
    once: bool = False
    """Whether it is pushed a single time, however long it is true."""
    soft: bool = False
    """Whether it may come and go by itself: then it is one alarm that pauses, not many."""
    job_id: str | None = None
    session_id: str | None = None
    lane: str | None = None
    label: str = ""
    """What a person calls it."""
    summary: str
    """One line for whoever is woken: no control characters, at most 160 characters."""
    evidence: str | None = None
    """What told the state."""
    generation: str
    """Names the picture of all work as it was then."""
    raised_at: float
    """Epoch seconds."""
    pushes: int = 0
    """How often it was decided to push it. 0: there is no sink, or was none."""
    pushed_at: float | None = None
    told: int = 0
    """The newest of those pushes that every sink was given, or would not take."""
    acknowledged_at: float | None = None
    ended_at: float | None = None
    ended_why: str | None = None

    @property
    def open(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def owed(self) -> bool:
        """Whether a push was decided that is not known to be done."""
        return self.told < self.pushes

    @property
    def push_id(self) -> str:
        """The id of its newest push, the same in every supervisor."""
        return f"{self.alarm_id}.{self.pushes}"


class SinkTold(Observation):
    """What became of one push at one sink."""

    sink: Literal["command", "file", "webhook", "desktop"]
    result: Literal["given", "late", "failed", "unknown"]
    """``late``: it took too long and was ended; ``unknown``: it began, and how it ended was not seen."""
    why: str | None = None
    target: str | None = None
    """Which of those that this sink has led to: a mark (``target_mark``), never the address itself."""


class AlarmRaised(Observation):
    """Heartbeat, before anybody is woken: an alarm is new, is due again, or goes on after a pause."""

    kind: Literal["alarm.raised"] = "alarm.raised"
    record: AlarmRecord
    upto: int
    """The newest fact that was looked at: the next supervisor goes on behind it."""


class AlarmTold(Observation):
    """Heartbeat, when every sink was given a push, or would not take it."""

    kind: Literal["alarm.told"] = "alarm.told"
    alarm_id: AlarmId
    push: int
    sinks: tuple[SinkTold, ...] = ()


class AlarmAcknowledged(Observation):
    """Heartbeat, when somebody said that they know: it is not pushed again."""

    kind: Literal["alarm.acknowledged"] = "alarm.acknowledged"
    alarm_id: AlarmId


class AlarmEnded(Observation):
    """Heartbeat, when what an alarm was about is not so any more, or is gone."""

    kind: Literal["alarm.ended"] = "alarm.ended"
    alarm_id: AlarmId
    why: str


class HeartbeatArmed(Observation):
    """Heartbeat, with the first job or session, or when somebody started it: it watches from here on."""

    kind: Literal["heartbeat.armed"] = "heartbeat.armed"
    upto: int
    """What happened up to this fact is not told."""


class HeartbeatStopped(Observation):
    """Heartbeat, when somebody stopped it: nobody is woken before it is started again."""

    kind: Literal["heartbeat.stopped"] = "heartbeat.stopped"


AlarmFact = AlarmRaised | AlarmTold | AlarmAcknowledged | AlarmEnded | HeartbeatArmed | HeartbeatStopped


# --- commands and replies


class HeartbeatStart(Message):
    """client → Heartbeat; ``heartbeat_state`` once journalled, or ``refused`` for a sink that can't be one."""

    kind: Literal["heartbeat.start"] = "heartbeat.start"
    given: dict[str, str] = Field(default_factory=dict, repr=False)
    """Settings that were said on the command line, by key, as words; they win over the environment's."""
    environment: str = Field(default="", repr=False)
    """As in ``job.submit``."""


class HeartbeatStop(Message):
    """client → Heartbeat; ``heartbeat_state`` once journalled. Repeating it is harmless."""

    kind: Literal["heartbeat.stop"] = "heartbeat.stop"


class HeartbeatAcknowledge(Message):
    """client → Heartbeat; ``heartbeat_state`` once journalled, or ``refused`` where a word names no alarm."""

    kind: Literal["heartbeat.acknowledge"] = "heartbeat.acknowledge"
    words: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Alarms, jobs (id, prefix, label) or sessions (id, name); none: every alarm."""


class ViewBearings(Message):
    """client → gateway; ``bearings``: all work as it is now. What runs counts as looked at."""

    kind: Literal["view.bearings"] = "view.bearings"


HeartbeatCommand = HeartbeatStart | HeartbeatStop | HeartbeatAcknowledge | ViewBearings


class HeartbeatState(Observation):
    """Whether the heartbeat watches, whom it wakes, and which alarms are open."""

    kind: Literal["heartbeat_state"] = "heartbeat_state"
    heartbeat: dict[str, Any]
    """Keys in docs/orchestrators.md."""


class BearingsView(Observation):
    """All work in four sections."""

    kind: Literal["bearings"] = "bearings"
    bearings: dict[str, Any]
    """Keys in docs/orchestrators.md."""
