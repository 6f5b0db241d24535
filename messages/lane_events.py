"""What a lane's parser makes of a CLI's output: one closed union, the same for every vendor.

Every variant is made by a lane parser (``lanes/*/events.py``) and read by the Job actor; none is
answered. Unknown fields are ignored, so that stored ``events.jsonl`` files of newer versions load.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from .base import Observation
from .job import TokenUsage
from .vocabulary import FailureKind, ToolKind

__all__ = [
    "LANE_EVENT",
    "ConversationStarted",
    "Denied",
    "FailureKind",
    "GenerationNamed",
    "LaneEvent",
    "LimitReported",
    "LimitWindow",
    "Marked",
    "MarkerKind",
    "ModelObserved",
    "Retrying",
    "Spoke",
    "Thought",
    "ToolCalled",
    "ToolFinished",
    "ToolKind",
    "TurnEnded",
    "Unrecognised",
    "UsageReported",
]


class MarkerKind(StrEnum):
    """The words of the marker protocol (``lanes/markers.py``)."""

    PROGRESS = "PROGRESS"
    PLAN = "PLAN"
    NEED_INPUT = "NEED_INPUT"
    BLOCKED = "BLOCKED"
    DONE = "DONE"

    @property
    def terminal(self) -> bool:
        """Whether the marker claims that the delegate has stopped."""
        return self in (MarkerKind.NEED_INPUT, MarkerKind.BLOCKED, MarkerKind.DONE)


class ConversationStarted(Observation):
    """When the CLI named this conversation."""

    kind: Literal["conversation_started"] = "conversation_started"
    conversation: str


class ModelObserved(Observation):
    """When the stream says which model is really answering."""

    kind: Literal["model_observed"] = "model_observed"
    model: str
    announced: bool = False
    """The CLI only said which it would ask: nothing of that model has been heard yet."""


class Spoke(Observation):
    """When the delegate said something to the captain (a whole message, or a piece of one)."""

    kind: Literal["spoke"] = "spoke"
    text: str
    partial: bool = False
    """True for a piece of a message that later arrives whole or that only exists in pieces."""


class Thought(Observation):
    """When the model reasoned aloud: a sign of life, never an answer."""

    kind: Literal["thought"] = "thought"
    chars: int = 0


class ToolCalled(Observation):
    """When the delegate called a tool."""

    kind: Literal["tool_called"] = "tool_called"
    tool: ToolKind
    name: str
    target: str | None = None
    """The file or command it was called on, cut to 200 characters."""


class ToolFinished(Observation):
    """When a tool call ended."""

    kind: Literal["tool_finished"] = "tool_finished"
    name: str | None = None
    ok: bool = True
    denied: bool = False
    """True when permission was refused, as opposed to an ordinary failure."""
    excerpt: str | None = None


class Denied(Observation):
    """When the CLI itself reported a refused permission."""

    kind: Literal["denied"] = "denied"
    name: str | None = None
    excerpt: str | None = None


class Retrying(Observation):
    """When the CLI waits to try its provider again. Not final."""

    kind: Literal["retrying"] = "retrying"
    attempt: int | None = None
    status: int | None = None
    delay_s: float | None = None
    message: str | None = None
    failure: FailureKind | None = None
    """Why, where the lane knows; else its status and words tell."""


class LimitWindow(Observation):
    """One window of a plan's limits."""

    name: str
    utilization: float | None = None
    """0.0 to 1.0."""
    resets_at: float | None = None
    """Epoch seconds."""


class LimitReported(Observation):
    """When the stream carried a plan's gauge."""

    kind: Literal["limit_reported"] = "limit_reported"
    rejected: bool = False
    windows: tuple[LimitWindow, ...] = ()


class UsageReported(Observation):
    """When token use was reported; cumulative over the turn."""

    kind: Literal["usage_reported"] = "usage_reported"
    usage: TokenUsage
    by_model: dict[str, TokenUsage] = Field(default_factory=dict)
    whole_conversation: bool = False
    """Whether it counts what earlier runs of the conversation used, too."""
    cash_usd: float | None = None
    """What the CLI itself says it would cost at list price. Never a receipt."""


class UsageMetered(Observation):
    """When more of a turn that goes on was seen to be used: an estimate, of all of it so far."""

    kind: Literal["usage_metered"] = "usage_metered"
    by_model: dict[str, TokenUsage]
    """Empty name: the model is not named."""


class GenerationNamed(Observation):
    """When the stream named one generation by the id under which its provider keeps the receipt."""

    kind: Literal["generation_named"] = "generation_named"
    generation: str


class Marked(Observation):
    """When a marker of the protocol stood on a line of the delegate's own words."""

    kind: Literal["marked"] = "marked"
    marker: MarkerKind
    text: str
    signed: bool


class TurnEnded(Observation):
    """Exactly once per turn: the CLI's own final event, or our reading of its end."""

    kind: Literal["turn_ended"] = "turn_ended"
    ok: bool
    text: str | None = None
    """The final message, when the event carries it."""
    failure: FailureKind = FailureKind.NONE
    message: str | None = None
    """The CLI's own words for a failure."""
    until: float | None = None
    """Epoch seconds when a limit ends, if the CLI said so."""
    synthetic: bool = False
    """True when no final event came and the parser concluded it from the end of output."""
    unread: int | None = None
    """Bytes of the last line, where that was too long to be read and may have been the final event."""


class Unrecognised(Observation):
    """When a line meant nothing to the parser. Never dropped, never fatal; repeats are counted."""

    kind: Literal["unrecognised"] = "unrecognised"
    excerpt: str
    count: int = 1


LaneEvent = Annotated[
    ConversationStarted
    | ModelObserved
    | Spoke
    | Thought
    | ToolCalled
    | ToolFinished
    | Denied
    | Retrying
    | LimitReported
    | UsageReported
    | UsageMetered
    | GenerationNamed
    | Marked
    | TurnEnded
    | Unrecognised,
    Field(discriminator="kind"),
]

LANE_EVENT: TypeAdapter[LaneEvent] = TypeAdapter(LaneEvent)
