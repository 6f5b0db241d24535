"""A session as data: a live delegate that is read and steered, and everything that is said about it.

A session is held by a process of its own (the *holder*), which owns the delegate's pipes or terminal,
outlives the command and the supervisor, and writes what it sees to ``events.jsonl`` in the session's
folder. What the delegate is to be given goes through numbered files in ``inbox/``: each is given once.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .base import Message, Observation
from .job import Identity, JobId, Label, LaneName, ModelName, TokenUsage
from .vocabulary import Effort, SessionMode, SessionState

SessionId = JobId
"""Minted like a job's; the two never meet, because both are unguessable."""

SessionName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Transport = Literal["native", "acp", "pty", "tmux"]

SEND_LIMIT = 4 * 1024 * 1024
"""Most characters of one send."""


class SessionRequest(Message):
    """client → gateway: one session as a person asked for it. ``None`` means "you choose"."""

    session_id: SessionId | None = None
    """Chosen by the client: asking again after a lost answer starts no second session."""
    name: SessionName | None = None
    """A name that a live session bears is refused; without one, a free one is made from the lane's."""
    model: ModelName | None = None
    lane: LaneName | None = None
    transport: Transport | None = None
    effort: Effort | None = None
    cwd: str
    """Absolute folder the delegate works in."""
    task: Annotated[str, Field(max_length=SEND_LIMIT)] | None = None
    """The first thing it is given, once it can take something."""
    label: Label | None = None
    continues: JobId | None = None
    """The job or session whose conversation is gone on with: its lane and folder are taken over."""
    captain: Annotated[str, Field(max_length=200)] = ""
    """Who starts it (``cli/captain.py``): a session is only found without its name by its own captain."""
    trust_lane: bool = False
    cloud_ack: bool = False
    environment: str = Field(default="", repr=False)
    """As in ``JobRequest``. Never journalled or logged."""


class Answer(Message):
    """Answer what it asks."""

    op: Literal["answer"] = "answer"
    choice: Annotated[str, Field(pattern=r"\S", max_length=2000)]
    """An option's id, number (from 1) or label, or ``yes``, ``always``, ``no``; words where they are asked for."""
    request: Annotated[str, Field(max_length=1024)] | None = None
    """Only if this is what it asks: the id in the ``ask`` event. None is whatever it asks."""


class SetModel(Message):
    """Switch its model, for this session only. Declined while it works."""

    op: Literal["model"] = "model"
    model: ModelName


class SetEffort(Message):
    """Switch its reasoning effort. Declined while it works."""

    op: Literal["effort"] = "effort"
    effort: Effort


class SetMode(Message):
    """Switch what it may do without asking. Declined while it works."""

    op: Literal["mode"] = "mode"
    mode: SessionMode
    yolo: bool = False
    """The person said so: without it no mode is set in which it may do more than before."""


class Interrupt(Message):
    """End its turn; the session stays."""

    op: Literal["interrupt"] = "interrupt"


Steering = Annotated[Answer | SetModel | SetEffort | SetMode | Interrupt, Field(discriminator="op")]


Pin = Literal["kept", "drifted", "unknown"]
"""Whether the model that answers is the one that was asked for; ``unknown`` until one is seen to answer."""


class SessionRecord(Observation):
    """Everything that is kept of a session. Built from its facts alone (``state/session_records.py``)."""

    session_id: SessionId
    name: str
    label: str | None = None
    lane: str
    vehicle: str
    transport: Transport
    model: str | None = None
    """What was asked for, or set since."""
    model_observed: str | None = None
    model_pin: Pin | None = None
    """None where no model was asked for."""
    effort: Effort | None = None
    mode: SessionMode | None = None
    """What was set since its program was started; None: as it was started, it asks."""
    cwd: str
    captain: str = ""
    local: bool = False
    pool: str | None = None
    """Whose limit it spends (``lanes/catalog/pools.py``)."""
    paid: Literal["free", "plan", "metered", "unknown"] = "unknown"
    """What it spends: nothing, a plan's limits, cash."""
    state: SessionState = SessionState.STARTING
    evidence: str | None = None
    """What the state was told by: a protocol's message, a pattern on the screen."""
    accepted_at: float
    """Epoch seconds."""
    started: float | None = None
    ended: float | None = None
    attempt: int = 1
    """Counts launches: a relaunch is the next."""
    holder: Identity | None = None
    delegate: Identity | None = None
    conversation: str | None = None
    """The CLI's own id of this conversation."""
    turns: int = 0
    """Turns that have ended."""
    given: int = 0
    """Number of the newest inbox entry."""
    continues: JobId | None = None
    ending: str | None = None
    """Why it is being ended, once it is."""
    reason: str | None = None
    """Why it ended."""
    exit_code: int | None = None
    note: str | None = None


# --- commands


class SessionStart(Message):
    """client → Sessions; ``session_accepted`` once journalled, ``planned`` on a dry run, or ``refused``."""

    kind: Literal["session.start"] = "session.start"
    request: SessionRequest
    dry_run: bool = False


class SessionSend(Message):
    """client → Session; ``session_given`` once journalled. An id that was given before is not given again."""

    kind: Literal["session.send"] = "session.send"
    session: SessionId
    send_id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,64}$")]
    text: Annotated[str, Field(min_length=1, max_length=SEND_LIMIT)] = Field(repr=False)
    interrupt: bool = False
    """End the turn that runs first."""
    cloud_ack: bool = False
    environment: str = Field(default="", repr=False)


class SessionSteer(Message):
    """client → Session; ``session_given`` once journalled. Whether it was heeded, a ``delivery`` event says."""

    kind: Literal["session.steer"] = "session.steer"
    session: SessionId
    send_id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,64}$")]
    action: Steering
    environment: str = Field(default="", repr=False)


class SessionRelaunch(Message):
    """client → Sessions; ``session_accepted``: the program is started anew, in its conversation where it can be."""

    kind: Literal["session.relaunch"] = "session.relaunch"
    session: SessionId
    effort: Effort | None = None
    """With this effort. One that runs is ended first, where its conversation can be gone on with."""
    environment: str = Field(default="", repr=False)


class SessionStop(Message):
    """client → Session; ``session_views`` once the request is journalled. Repeating it is harmless."""

    kind: Literal["session.stop"] = "session.stop"
    session: SessionId


class ViewSessions(Message):
    """client → supervisor; ``session_views``, newest first."""

    kind: Literal["view.sessions"] = "view.sessions"
    session: str | None = None
    """One: its id, or the name of a live one. None is every session."""
    limit: Annotated[int, Field(ge=0)] = 40
    """0 is no limit."""


SessionCommand = SessionStart | SessionSend | SessionSteer | SessionRelaunch | SessionStop | ViewSessions


# --- facts


class SessionAccepted(Observation):
    """Sessions, before the caller is told anything: the session exists, and its name is taken."""

    kind: Literal["session.accepted"] = "session.accepted"
    session_id: SessionId
    record: SessionRecord


class SessionLaunching(Observation):
    """Session, before a holder is asked for. ``attempt`` names the claim that only one holder can take."""

    kind: Literal["session.launching"] = "session.launching"
    session_id: SessionId
    attempt: int
    effort: Effort | None = None
    """None: the one it had."""


class SessionHeld(Observation):
    """Session, when its holder was seen to exist, and the delegate with it."""

    kind: Literal["session.held"] = "session.held"
    session_id: SessionId
    attempt: int
    holder: Identity | None
    delegate: Identity | None


class SessionGiven(Observation):
    """Session, before the delegate is given anything: what was sent or asked of it, redacted."""

    kind: Literal["session.given"] = "session.given"
    session_id: SessionId
    number: int
    send_id: str
    op: Literal["send", "answer", "model", "effort", "mode", "interrupt"]
    text: str | None = None
    """Cut to a few thousand characters, secrets masked."""
    chars: int = 0
    """Length of the whole."""


class SessionStateChanged(Observation):
    """Session, when its state changed, and by what that was told."""

    kind: Literal["session.state_changed"] = "session.state_changed"
    session_id: SessionId
    state: SessionState
    evidence: str | None = None


class SessionObserved(Observation):
    """Session, when a model or conversation was named, or a turn ended."""

    kind: Literal["session.observed"] = "session.observed"
    session_id: SessionId
    model_observed: str | None = None
    model: str | None = None
    """The model that was switched to on request."""
    model_pin: Pin | None = None
    """Where that changed."""
    effort: Effort | None = None
    mode: SessionMode | None = None
    conversation: str | None = None
    turns: int = 0


class SessionEnding(Observation):
    """Session, before it is ended: a later supervisor goes on with that."""

    kind: Literal["session.ending"] = "session.ending"
    session_id: SessionId
    cause: str


class SessionEnded(Observation):
    """Session, when its program has ended or its holder was lost; its processes are gone."""

    kind: Literal["session.ended"] = "session.ended"
    session_id: SessionId
    attempt: int
    state: SessionState
    reason: str | None = None
    exit_code: int | None = None
    note: str | None = None


class GaugeWindow(Observation):
    """One window of a plan's limits."""

    name: str
    utilization: float | None = None
    """0.0 to 1.0; None is unknown."""
    resets_at: float | None = None
    """Epoch seconds."""


class LimitsObserved(Observation):
    """Session, when a delegate's protocol told the gauges of its plan."""

    kind: Literal["limits.observed"] = "limits.observed"
    session_id: SessionId
    lane: str
    pool: str | None = None
    rejected: bool = False
    windows: tuple[GaugeWindow, ...] = ()


class SessionSpent(Observation):
    """Session, when a turn ended: what it used, as far as its delegate told."""

    kind: Literal["session.spent"] = "session.spent"
    session_id: SessionId
    turn: int
    """Counts the session's turns from 1; a turn that is told again replaces its row."""
    ok: bool
    model: str | None = None
    tokens: TokenUsage | None = None
    cash_usd: float | None = None
    """Where it costs cash: an estimate, by the delegate's word or the list price."""


class SessionRemoved(Observation):
    """Jobs, when an ended session was cleaned up."""

    kind: Literal["session.removed"] = "session.removed"
    session_id: JobId


SessionFact = (
    SessionAccepted
    | SessionLaunching
    | SessionHeld
    | SessionGiven
    | SessionStateChanged
    | SessionObserved
    | SessionEnding
    | SessionEnded
    | SessionRemoved
    | SessionSpent
    | LimitsObserved
)
