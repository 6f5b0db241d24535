"""What the supervisor answers. Never a vague OK: each reply says what is already true."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from .alarm import BearingsView, HeartbeatState
from .base import Observation
from .commands import Hello
from .facts import Entry
from .fleet import FleetView
from .history import BudgetHasRoom, HistoryKept
from .refusals import Refused

JobObject = dict[str, Any]
"""The public job object of ``--json`` (keys in docs/orchestrators.md), made by ``state/views.py``."""


class Plan(Observation):
    """How a job would be, or was, run: what a person needs to judge it. Secrets are masked."""

    lane: str
    vehicle: str
    model: str | None
    tier: str
    effort: str | None
    effort_support: Literal["native", "advisory"] | None = None
    """Whether the lane has a setting of its own for it, or the prompt says it."""
    effort_sent: str | None = None
    """The word for it that the lane's program is told; None: it is told of none."""
    verb: str
    posture: str
    argv: tuple[str, ...]
    cwd: str
    stdin: str
    env_set: tuple[str, ...] = ()
    """Names only."""
    env_stripped: tuple[str, ...] = ()
    env_withheld: tuple[str, ...] = ()
    """Names of the caller's credentials that are not the lane's own: the delegate is not given them."""
    gate: str
    """What the gate says, in words."""
    gate_open: bool = True
    """False only on a dry run: the job would be refused, as ``gate`` says."""
    disclosure: tuple[str, ...] = ()
    """What a person is told before work leaves this machine, a line each; empty where nothing leaves."""
    cost: str
    """Cost words, for example ``$0 cash, spends your Claude plan limits``."""
    budget: str | None = None
    """Only on a dry run: why the money budget would refuse it; None where it would not."""
    notices: tuple[str, ...] = ()


class Accepted(Observation):
    """The job is journalled; it will run even if everything that exists now is killed."""

    kind: Literal["accepted"] = "accepted"
    job_id: str
    plan: Plan


class Planned(Observation):
    """A dry run: nothing was created."""

    kind: Literal["planned"] = "planned"
    plan: Plan


class JobViews(Observation):
    """Jobs as they are now."""

    kind: Literal["job_views"] = "job_views"
    jobs: tuple[JobObject, ...]
    omitted: int = 0
    loops: tuple[dict[str, Any], ...] = ()
    """Loops and questions that have not ended, in brief (``state/loop_views.py``); where all jobs were asked for."""


SessionObject = dict[str, Any]
"""The public session object of ``--json``, made by ``state/session_views.py``."""


class SessionIsAccepted(Observation):
    """The session is journalled and being started; its name is taken."""

    kind: Literal["session_accepted"] = "session_accepted"
    session: SessionObject
    plan: Plan


class IsGiven(Observation):
    """It is journalled and in the session's inbox. What became of it, its ``delivery`` events say."""

    kind: Literal["session_given"] = "session_given"
    session_id: str
    number: int
    send_id: str
    repeated: bool = False
    """Whether that id had been given before; then nothing was added."""
    disclosure: tuple[str, ...] = ()
    """What a person is told before work leaves this machine, a line each."""


class SessionViews(Observation):
    """Sessions as they are now."""

    kind: Literal["session_views"] = "session_views"
    sessions: tuple[SessionObject, ...]
    omitted: int = 0


class Event(Observation):
    """One journalled fact of a followed stream."""

    kind: Literal["event"] = "event"
    entry: Entry


class StreamEnded(Observation):
    """The last frame of a stream, and where to resume it."""

    kind: Literal["stream_ended"] = "stream_ended"
    seq: int = 0


GroupObject = dict[str, Any]
"""The public group object of ``--json``, made by ``state/group_views.py``."""


class GroupIsAccepted(Observation):
    """The group and all its members are journalled; each will run even if everything that exists now is killed."""

    kind: Literal["group_accepted"] = "group_accepted"
    group: GroupObject
    disclosures: tuple[tuple[str, ...], ...] = ()
    """What a person is told before work leaves this machine: as a job's plan has it, once for each that it goes to."""


class GroupPlanned(Observation):
    """A dry run: nothing was created."""

    kind: Literal["group_planned"] = "group_planned"
    members: tuple[dict[str, Any], ...]
    """``label`` and ``plan`` of each that would run."""
    refused: tuple[dict[str, Any], ...] = ()
    """``label``, ``code`` and ``message`` of each that would not."""


class GroupView(Observation):
    """A group as it is now."""

    kind: Literal["group_view"] = "group_view"
    group: GroupObject


LoopObject = dict[str, Any]
"""The public loop object of ``--json``, made by ``state/loop_views.py``."""


class LoopIsAccepted(Observation):
    """The loop is journalled; it goes on even if everything that exists now is killed."""

    kind: Literal["loop_accepted"] = "loop_accepted"
    loop: LoopObject
    plan: Plan | None = None
    """Of its first kind of job; None where it had been taken before."""
    plans: tuple[Plan, ...] = ()
    """One of each lane that it may use, the first one's first."""


class LoopPlanned(Observation):
    """A dry run: nothing was created."""

    kind: Literal["loop_planned"] = "loop_planned"
    steps: tuple[dict[str, Any], ...]
    """``step`` and ``plan`` of every kind of job that it may ask for."""


class LoopView(Observation):
    """A loop as it is now."""

    kind: Literal["loop_view"] = "loop_view"
    loop: LoopObject


class Cleaned(Observation):
    """Jobs that were removed with their folders and work trees, or would be on a dry run, and those that stay."""

    kind: Literal["cleaned"] = "cleaned"
    removed: tuple[str, ...] = ()
    """Ids of jobs."""
    sessions: tuple[str, ...] = ()
    """Ids of ended sessions that went as well."""
    kept: tuple[dict[str, str], ...] = ()
    """``{"job_id", "why"}`` of those that should have gone."""
    notes: tuple[str, ...] = ()
    freed_bytes: int = 0
    """What they took on the disk."""
    dry_run: bool = False


class QueueState(Observation):
    """The queue as it is now."""

    kind: Literal["queue_state"] = "queue_state"
    paused: tuple[str, ...] = ()
    """``all``, ``group:ID``, ``job:ID``."""
    waiting: int = 0
    """How many jobs wait for their turn."""


class LimitsState(Observation):
    """Marks that hold and quotas, as they are now."""

    kind: Literal["limits_state"] = "limits_state"
    marks: tuple[dict[str, Any], ...] = ()
    quotas: tuple[dict[str, Any], ...] = ()


class AdviceView(Observation):
    """Which model and lane a task should go to, and why (keys in docs/orchestrators.md)."""

    kind: Literal["advice"] = "advice"
    advice: dict[str, Any]


class OutcomeKept(Observation):
    """What became of a job's result is journalled."""

    kind: Literal["outcome_kept"] = "outcome_kept"
    job_id: str
    outcome: str
    task_kind: str | None = None
    project: str | None = None
    model: str


class SupervisorState(Observation):
    """The supervisor as it is."""

    kind: Literal["supervisor_state"] = "supervisor_state"
    pid: int
    version: str
    protocol: int
    home: str
    socket: str
    started_at: float
    live_jobs: int
    queued_jobs: int
    max_jobs: int
    actors: dict[str, int] = Field(default_factory=dict)
    """Actor name → messages waiting."""


class Stopping(Observation):
    """The stop was taken; the socket closes once the tree is down."""

    kind: Literal["stopping"] = "stopping"
    pid: int
    reason: str


Reply = Annotated[
    Hello
    | Accepted
    | Planned
    | JobViews
    | Cleaned
    | QueueState
    | SessionIsAccepted
    | IsGiven
    | SessionViews
    | Event
    | StreamEnded
    | GroupIsAccepted
    | GroupPlanned
    | GroupView
    | LoopIsAccepted
    | LoopPlanned
    | LoopView
    | LimitsState
    | FleetView
    | AdviceView
    | OutcomeKept
    | HeartbeatState
    | BearingsView
    | HistoryKept
    | BudgetHasRoom
    | SupervisorState
    | Stopping
    | Refused,
    Field(discriminator="kind"),
]

REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)
