"""A group of jobs as data: the members of one fan-out, taken together and counted together."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .base import Message, Observation
from .job import Identity, JobId, JobRequest, Label, LaneName, ModelName
from .vocabulary import GROUP_ID_PATTERN, Effort, Tier, Verb

GroupId = Annotated[str, StringConstraints(pattern=GROUP_ID_PATTERN)]


class FanoutMember(Message):
    """One member as it was asked for. ``None`` means what the whole fan-out asked for."""

    label: Label
    task: str
    model: ModelName | None = None
    lane: LaneName | None = None
    effort: Effort | None = None
    tier: Tier | None = None
    retries: JobId | None = None
    """The member of an earlier group that it does anew."""


class RefusedMember(Observation):
    """One that was asked for, and is no member: why."""

    label: str
    code: str
    message: str
    hint: str | None = None


class FanoutRequest(Message):
    """client → gateway: many jobs as one group."""

    group_id: GroupId
    """Chosen by the client: asking again after a lost answer makes no second group."""
    common: JobRequest
    """What holds for every member; it has no task, and where a member says something, that holds."""
    members: tuple[FanoutMember, ...] = ()
    members_file: str | None = None
    """A file in the spool that holds the members as a JSON list, where they are too long for a frame."""
    most: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Most members that run at the same time. None: the setting, and no more of a lane than it bears."""
    skip_refused: bool = False
    """Start the others where some are refused."""
    refused: tuple[RefusedMember, ...] = ()
    """What the client could make no member of, and why: kept with the group."""


class GroupMember(Observation):
    """One member of a group."""

    job_id: JobId
    label: str
    lane: str


class GroupRecord(Observation):
    """Everything that is kept of a group. What its members do stands in their own records."""

    group_id: GroupId
    label: str | None = None
    verb: Verb
    cwd: str
    most: int
    """Most members that run at the same time."""
    capped: bool = True
    """Whether no more of a lane run than it bears by our table."""
    members: tuple[GroupMember, ...]
    refused: tuple[RefusedMember, ...] = ()
    accepted_at: float
    """Epoch seconds."""
    cancel_requested: bool = False
    ended: float | None = None
    """Epoch seconds when the last member's end was seen."""
    owner: Identity | None = None
    """The command that supervises the group itself; None when the supervisor process does."""


class FanoutAccepted(Observation):
    """Jobs, together with the acceptance of every member, before the caller is told anything."""

    kind: Literal["fanout.accepted"] = "fanout.accepted"
    group_id: GroupId
    record: GroupRecord


class FanoutMemberReleased(Observation):
    """Fanout, before Jobs is told: it is this member's turn."""

    kind: Literal["fanout.member_released"] = "fanout.member_released"
    group_id: GroupId
    job_id: JobId


class FanoutCancelRequested(Observation):
    """Jobs, together with the request for each member, when somebody asked for the end of a group."""

    kind: Literal["fanout.cancel_requested"] = "fanout.cancel_requested"
    group_id: GroupId


class FanoutEnded(Observation):
    """Fanout, when every member has ended."""

    kind: Literal["fanout.ended"] = "fanout.ended"
    group_id: GroupId


GroupFact = FanoutAccepted | FanoutCancelRequested | FanoutEnded
"""Facts that change a group's record. A member's release changes the job's."""
