"""What a client asks of the supervisor. Imperatives; an unknown field is refused by name."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from .base import Message
from .group import FanoutRequest, GroupId
from .job import JobRequest
from .session import SessionCommand
from .vocabulary import JobState


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
    | ViewJobs
    | FollowJobs
    | FollowEvents
    | SessionCommand
    | FanoutSubmit
    | FanoutCancel
    | LimitsSet
    | LimitsClear
    | ViewLimits
    | SupervisorStatus
    | SupervisorStop,
    Field(discriminator="kind"),
]

COMMAND: TypeAdapter[Command] = TypeAdapter(Command)
