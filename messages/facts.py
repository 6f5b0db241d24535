"""What has happened: the journal's only content. Past tense, appended once, never changed.

Every variant is written by one actor through the Journal and read by every follower
(``osrc events``); none is answered. ``seq`` and ``at`` are given by the Journal at commit.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from .alarm import (
    AlarmAcknowledged,
    AlarmEnded,
    AlarmRaised,
    AlarmTold,
    HeartbeatArmed,
    HeartbeatStopped,
)
from .base import Observation
from .group import FanoutAccepted, FanoutCancelRequested, FanoutEnded, FanoutMemberReleased
from .history import HistoryImported
from .job import Attempted, Cost, ExitStatus, Identity, JobId, JobRecord, Progress
from .loop import LoopAccepted, LoopCancelRequested, LoopEnded, LoopResumed, LoopStepBegan, LoopStepEnded
from .session import GaugeWindow, SessionFact
from .vocabulary import JobState, Told


class JobAccepted(Observation):
    """Jobs, before the caller is told anything: the job exists."""

    kind: Literal["job.accepted"] = "job.accepted"
    job_id: JobId
    record: JobRecord


class JobLaunching(Observation):
    """Job, before a shim is asked for. ``attempt`` names the claim that only one shim can take."""

    kind: Literal["job.launching"] = "job.launching"
    job_id: JobId
    attempt: int


class JobSpawned(Observation):
    """Job, when the delegate's process was seen to exist."""

    kind: Literal["job.spawned"] = "job.spawned"
    job_id: JobId
    shim: Identity | None
    delegate: Identity | None


class JobStateChanged(Observation):
    """Job, when the machine moved between live states."""

    kind: Literal["job.state_changed"] = "job.state_changed"
    job_id: JobId
    state: JobState
    reason: str | None = None


class JobProgressed(Observation):
    """Job, when a signed progress or plan marker came, or a first model or conversation was named."""

    kind: Literal["job.progressed"] = "job.progressed"
    job_id: JobId
    progress: Progress
    model_observed: str | None = None
    conversation: str | None = None


class JobCancelRequested(Observation):
    """Jobs, when somebody asked for the end of a job."""

    kind: Literal["job.cancel_requested"] = "job.cancel_requested"
    job_id: JobId
    at_once: bool = False


class JobEnding(Observation):
    """Job, before it ends its delegate's tree, so that a later supervisor knows why the delegate died."""

    kind: Literal["job.ending"] = "job.ending"
    job_id: JobId
    cause: str


class JobEnded(Observation):
    """Job, with its verdict. A later one of the same job replaces it only if ``revises`` is set."""

    kind: Literal["job.ended"] = "job.ended"
    job_id: JobId
    state: JobState
    exit: int
    exit_status: ExitStatus | None = None
    reason: str | None = None
    outcome: str | None = None
    progress: Progress = Progress()
    cost: Cost = Cost()
    model_observed: str | None = None
    conversation: str | None = None
    note: str | None = None
    ended_at: float | None = None
    """Epoch seconds when the delegate's end was seen; None: it is the time of this fact."""
    revises: bool = False


class JobHopped(Observation):
    """Job, when its lane failed it and another attempt was made ready: from here on the job is that one."""

    kind: Literal["job.hopped"] = "job.hopped"
    job_id: JobId
    over: Attempted | None = None
    """The attempt that is over; None where that was told before (the job waited in between)."""
    record: JobRecord
    """The job on its new terms. Of it, lane, model, price and the like count; what was asked for stays."""
    why: str


class JobHeld(Observation):
    """Job, when it waits for a limit to end: no process runs, no slot is taken."""

    kind: Literal["job.held"] = "job.held"
    job_id: JobId
    until: float
    """Epoch seconds."""
    why: str
    over: Attempted | None = None
    """The attempt that met the limit, if there was one."""


class JobOutcome(Observation):
    """Jobs, when somebody, or a check, said what became of a job's result. The newest word counts."""

    kind: Literal["job.outcome"] = "job.outcome"
    job_id: JobId
    outcome: Told
    source: Literal["person", "check"] = "person"
    task_kind: str | None = None
    """The kind of task that it was (``lanes/advice/classify.py``); None: not known."""
    project: str | None = None
    """The root of the work tree that it was done in."""
    lane: str
    """The lane whose attempt gave the result."""
    model: str
    """The key of the model that gave it; empty: the lane's own default."""


class JobRemoved(Observation):
    """Jobs, when a finished job was cleaned up."""

    kind: Literal["job.removed"] = "job.removed"
    job_id: JobId


class QueuePaused(Observation):
    """Jobs, when somebody held jobs back: none of them starts before ``queue.resumed``."""

    kind: Literal["queue.paused"] = "queue.paused"
    scope: str
    """``all``, ``group:ID`` or ``job:ID`` (``state/queue.py``)."""


class QueueResumed(Observation):
    """Jobs, when a pause was taken back."""

    kind: Literal["queue.resumed"] = "queue.resumed"
    scope: str


class LaneDown(Observation):
    """Limits, when a pool was found to refuse: nothing is sent there by itself until then."""

    kind: Literal["limits.lane_down"] = "limits.lane_down"
    key: str
    """``pool:NAME``, or ``lane:NAME`` where nobody else shares what the lane uses."""
    lane: str
    """The lane that met it."""
    until: float
    """Epoch seconds."""
    reason: str
    evidence: Literal["confirmed", "unverified"]


class LaneUp(Observation):
    """Limits, when a mark was taken away before its time."""

    kind: Literal["limits.lane_up"] = "limits.lane_up"
    key: str
    why: str


class QuotaSet(Observation):
    """Limits, when somebody said how many runs of a model a day may have."""

    kind: Literal["limits.quota_set"] = "limits.quota_set"
    lane: str
    """A lane, or ``any``: all of them together."""
    model: str
    """The model's key; empty: the lane's own default."""
    per_day: int
    zone: Literal["utc", "local"] = "utc"
    """Whose midnight begins the day."""


class QuotaCleared(Observation):
    """Limits, when a quota was taken back."""

    kind: Literal["limits.quota_cleared"] = "limits.quota_cleared"
    lane: str
    model: str


class QuotaExhausted(Observation):
    """Limits, when a service refused a model before its quota was used up by our count."""

    kind: Literal["limits.quota_exhausted"] = "limits.quota_exhausted"
    lane: str
    model: str
    until: float
    """Epoch seconds."""


class GaugesRead(Observation):
    """Job, when an attempt was over whose output had told the gauges of its plan."""

    kind: Literal["limits.gauges_read"] = "limits.gauges_read"
    lane: str
    pool: str | None = None
    windows: tuple[GaugeWindow, ...] = ()
    measured_at: float
    """Epoch seconds, no earlier than they were told."""


class SupervisorStarted(Observation):
    """Root, once its tree is up and orphans were adopted."""

    kind: Literal["supervisor.started"] = "supervisor.started"
    pid: int
    version: str
    adopted: int = 0


class SupervisorStopped(Observation):
    """Root, as the last fact of an ordered stop."""

    kind: Literal["supervisor.stopped"] = "supervisor.stopped"
    pid: int
    reason: Literal["restart", "shutdown", "cancel", "idle"]


class StoreRebuilt(Observation):
    """Whoever opened the store, when its jobs had to be taken from their folders: their own facts are lost."""

    kind: Literal["store.rebuilt"] = "store.rebuilt"
    jobs: int
    """How many were restored, each as its folder knows it."""
    cause: str


class ChildCrashed(Observation):
    """A supervisor, when a child actor crashed or stalled and what was done about it."""

    kind: Literal["supervisor.child_crashed"] = "supervisor.child_crashed"
    child: str
    error: str
    restarted: bool


Fact = Annotated[
    JobAccepted
    | JobLaunching
    | JobSpawned
    | JobStateChanged
    | JobProgressed
    | JobCancelRequested
    | JobEnding
    | JobEnded
    | JobHopped
    | JobHeld
    | JobOutcome
    | JobRemoved
    | HistoryImported
    | QueuePaused
    | QueueResumed
    | SessionFact
    | FanoutAccepted
    | FanoutMemberReleased
    | FanoutCancelRequested
    | FanoutEnded
    | LoopAccepted
    | LoopStepBegan
    | LoopStepEnded
    | LoopCancelRequested
    | LoopResumed
    | LoopEnded
    | LaneDown
    | LaneUp
    | QuotaSet
    | QuotaCleared
    | QuotaExhausted
    | GaugesRead
    | AlarmRaised
    | AlarmTold
    | AlarmAcknowledged
    | AlarmEnded
    | HeartbeatArmed
    | HeartbeatStopped
    | SupervisorStarted
    | SupervisorStopped
    | StoreRebuilt
    | ChildCrashed,
    Field(discriminator="kind"),
]

LimitFact = LaneDown | LaneUp | QuotaSet | QuotaCleared | QuotaExhausted
"""Facts about lanes and models, not about a job."""

FACT: TypeAdapter[Fact] = TypeAdapter(Fact)


class Entry(Observation):
    """One committed fact with its place in the journal."""

    seq: int
    at: float
    """Epoch seconds."""
    fact: Fact
