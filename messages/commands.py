"""What a client asks of the supervisor. Imperatives; an unknown field is refused by name."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from .alarm import HeartbeatCommand
from .base import Message
from .fleet import ViewFleet
from .group import FanoutRequest, GroupId
from .history import BudgetAsk, HistoryImport
from .job import JobRequest
from .loop import LoopCancel, LoopResume, LoopStart
from .session import SessionCommand
from .vocabulary import Effort, JobState, Told


class Ids(Message):
    """These jobs: full ids, unique prefixes, or labels."""

    select: Literal["ids"] = "ids"
    ids: tuple[str, ...] = Field(min_length=1)


class Everything(Message):
    """Every job, newest first."""

    select: Literal["all"] = "all"
    state: JobState | None = None
    limit: Annotated[int, Field(ge=0)] = 40
    """0 is no limit."""


Selection = Annotated[Ids | Everything, Field(discriminator="select")]


class Hello(Message):
    """Either side, first frame: answered by the other side's ``hello``."""

    kind: Literal["hello"] = "hello"
    protocol: int
    version: str
    capabilities: tuple[str, ...] = ()


class JobSubmit(Message):
    """client → Jobs; ``accepted`` once journalled, ``planned`` on a dry run, or ``refused``."""

    kind: Literal["job.submit"] = "job.submit"
    request: JobRequest
    dry_run: bool = False


class JobCancel(Message):
    """client → Jobs; ``job_views`` after the request is journalled. Repeating it is harmless."""

    kind: Literal["job.cancel"] = "job.cancel"
    selection: Ids
    at_once: bool = False
    """Skip the grace between TERM and KILL."""


class JobCleanup(Message):
    """client → Jobs; ``cleaned`` once their removal is journalled. What has unsaved work stays, without ``force``."""

    kind: Literal["job.cleanup"] = "job.cleanup"
    words: Annotated[tuple[str, ...], Field(min_length=1, max_length=10_000)]
    """Ids, unique prefixes, labels, or a group's id: all its jobs."""
    force: bool = False
    """Also what was not committed or not merged."""


class JobGc(Message):
    """client → Jobs; ``cleaned``: finished jobs are removed by their age, and the oldest where they take too much."""

    kind: Literal["job.gc"] = "job.gc"
    older_than_s: Annotated[float, Field(ge=0)] | None = None
    """None: as the settings say."""
    most_bytes: Annotated[int, Field(ge=0)] | None = None
    """What the finished jobs that stay may take on the disk, work trees included; None: any amount."""
    dry_run: bool = False


class QueuePause(Message):
    """client → Jobs; ``queue_state`` once journalled. What runs goes on; what waits is held."""

    kind: Literal["queue.pause"] = "queue.pause"
    words: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Jobs or groups; none: the whole queue."""


class QueueResume(Message):
    """client → Jobs; ``queue_state`` once journalled. Repeating it is harmless."""

    kind: Literal["queue.resume"] = "queue.resume"
    words: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Jobs or groups; none: every pause is taken back."""


class JobTellOutcome(Message):
    """client → Jobs; ``outcome_kept`` once journalled, or ``refused`` for a job that is unknown or has not ended."""

    kind: Literal["job.tell_outcome"] = "job.tell_outcome"
    job: str
    """An id, a unique prefix, or a label."""
    outcome: Told
    source: Literal["person", "check"] = "person"


class ViewAdvice(Message):
    """client → gateway; ``advice``, or ``refused`` for a setting that makes no sense."""

    kind: Literal["view.advice"] = "view.advice"
    task: Annotated[str, Field(min_length=1)]
    effort: Effort | None = None
    cwd: str
    """The folder whose history counts."""
    environment: str = Field(default="", repr=False)
    """As in ``job.submit``."""


class ViewJobs(Message):
    """client → Jobs; ``job_views``, or ``refused`` naming the id that is unknown or ambiguous."""

    kind: Literal["view.jobs"] = "view.jobs"
    selection: Selection


class FollowJobs(Message):
    """client → gateway; a ``job_views`` frame at each change, then ``stream_ended`` when all ended."""

    kind: Literal["follow.jobs"] = "follow.jobs"
    selection: Ids
    until_any: bool = False
    """End the stream when the first of them has ended."""
    every_s: Annotated[float, Field(ge=0.2)] | None = None
    """Also send a frame this often, for a live display."""


class FollowEvents(Message):
    """client → gateway; one ``event`` frame per fact after ``since``; without ``follow`` it ends at the newest."""

    kind: Literal["follow.events"] = "follow.events"
    since: Annotated[int, Field(ge=0)] = 0
    job: str | None = None
    type: str | None = None
    follow: bool = False


class FanoutSubmit(Message):
    """client → Jobs; ``group_accepted`` once journalled, ``group_planned`` on a dry run, or ``refused``."""

    kind: Literal["fanout.submit"] = "fanout.submit"
    request: FanoutRequest
    dry_run: bool = False


class FanoutCancel(Message):
    """client → Jobs; ``group_view`` after the request is journalled. Repeating it is harmless."""

    kind: Literal["fanout.cancel"] = "fanout.cancel"
    group_id: GroupId
    at_once: bool = False
    """Skip the grace between TERM and KILL."""


class LimitsSet(Message):
    """client → Limits; ``limits_state`` once journalled, or ``refused`` for a lane or model that there is not."""

    kind: Literal["limits.set"] = "limits.set"
    lane: str
    """A lane, or ``any``: all of them together."""
    model: str
    """A word for a model; ``default``: the lane's own."""
    per_day: Annotated[int, Field(ge=0, le=1_000_000)]
    zone: Literal["utc", "local"] = "utc"


class LimitsClear(Message):
    """client → Limits; ``limits_state`` once journalled, or ``refused`` where there is nothing of the kind."""

    kind: Literal["limits.clear"] = "limits.clear"
    lane: str | None = None
    """Whose mark is taken away, or with ``model``: whose quota. None: everything."""
    model: str | None = None


class ViewLimits(Message):
    """client → Limits; ``limits_state``."""

    kind: Literal["view.limits"] = "view.limits"


class SupervisorStatus(Message):
    """client → Root; ``supervisor_state``."""

    kind: Literal["supervisor.status"] = "supervisor.status"


class SupervisorStop(Message):
    """client → Root; ``stopping``. ``restart`` and ``shutdown`` leave delegates running; ``cancel`` ends them."""

    kind: Literal["supervisor.stop"] = "supervisor.stop"
    reason: Literal["restart", "shutdown", "cancel"] = "shutdown"


Command = Annotated[
    Hello
    | JobSubmit
    | JobCancel
    | JobCleanup
    | JobGc
    | QueuePause
    | QueueResume
    | JobTellOutcome
    | HistoryImport
    | BudgetAsk
    | ViewAdvice
    | ViewJobs
    | FollowJobs
    | FollowEvents
    | SessionCommand
    | FanoutSubmit
    | FanoutCancel
    | LoopStart
    | LoopCancel
    | LoopResume
    | LimitsSet
    | LimitsClear
    | ViewLimits
    | ViewFleet
    | HeartbeatCommand
    | SupervisorStatus
    | SupervisorStop,
    Field(discriminator="kind"),
]

COMMAND: TypeAdapter[Command] = TypeAdapter(Command)
