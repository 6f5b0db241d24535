"""A loop as data: jobs and checks in turn until the check is green, a bound is met, or nothing moves any more."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .base import Message, Observation
from .entity_ids import LOOP
from .job import Identity, JobId, JobRequest, Label, LaneName, ModelName
from .session import SessionId
from .vocabulary import JOB_ID_PATTERN, Verb

LOOP_ID_PATTERN = f"^{LOOP}{JOB_ID_PATTERN[1:]}"
"""``loop-YYYYmmdd-HHMMSS-xxxxxxxxxxxx``: as a job's id."""

LoopId = Annotated[str, StringConstraints(pattern=LOOP_ID_PATTERN)]
CheckCommand = Annotated[str, StringConstraints(min_length=1, max_length=32_000)]
Laps = Annotated[int, Field(ge=1, le=1000)]
Seconds = Annotated[float, Field(gt=0, le=30 * 86400)]
Percent = Annotated[float, Field(gt=0, le=100)]
Usd = Annotated[float, Field(gt=0, le=1_000_000)]


class Shape(StrEnum):
    """What kind of loop it is; ``state/loop_machine.py`` decides for each."""

    VERIFY = "verify"
    """One delegate until the check passes."""
    ESCALATE = "escalate"
    """The same up a ladder of models, cheap ones first."""
    SWEEP = "sweep"
    """Rounds of looking until some in a row find nothing new."""
    OPTIMIZE = "optimize"
    """A writer and a judge with a rubric, until its bar is reached."""
    COUNCIL = "council"
    """Models debate to a plan; once it is launched, a builder loops on the check, and an advisor compares."""
    OPINION = "opinion"
    """Several answer one question; what they agree on stands, else a judge rules (``osrc second-opinion``)."""


class LoopEnd(StrEnum):
    """The one way in which a loop has ended."""

    SUCCESS = "success"
    BLOCKED = "blocked"
    MAX_TURNS = "max_turns"
    MAX_TIME = "max_time"
    MAX_USD = "max_usd"
    CANCELED = "canceled"


class Role(StrEnum):
    """What a step of a loop is for."""

    CHECK = "check"
    BUILD = "build"
    FIND = "find"
    WRITE = "write"
    JUDGE = "judge"
    DEBATE = "debate"
    DECIDE = "decide"
    ADVISE = "advise"
    ANSWER = "answer"
    COMPARE = "compare"
    RULE = "rule"


class LoopLimits(Message):
    """Bounds of a loop. They are only ever raised."""

    laps: Laps = 6
    """Most laps: jobs that change something, or rounds."""
    seconds: Seconds | None = None
    """Most wall-clock seconds in all; what it was at rest between its end and a resume is not counted."""
    usd: Usd | None = None
    """Most cash, measured or estimated."""
    plan_percent: Percent | None = None
    """No lap is begun once so much of the fullest window of the plan that laps spend is used."""


class Seat(Message):
    """One who is asked for an opinion. Of model and lane at least one is named."""

    label: Label
    model: ModelName | None = None
    lane: LaneName | None = None


class LoopTerms(Message):
    """What a loop is, apart from the task and the bounds."""

    shape: Shape
    check: CheckCommand | None = None
    """A line for the shell: exit status 0 is the goal."""
    check_timeout_s: Seconds = 300.0
    guard: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """More files and folders of the check, relative to where it runs: a delegate that changes one is noticed."""
    stall: Annotated[int, Field(ge=0, le=100)] = 2
    """So many laps that end in the same failure are a standstill; 0: never."""
    allow_green: bool = False
    """Begin although the check passes before anything was done."""
    allow_check_edits: bool = False
    """Call it success although the delegate changed what the check consists of."""
    keep_conversation: bool = False
    """Each lap goes on with the conversation of the one before."""
    session: bool = False
    """Each builder, writer or seat is one live session, and each of its laps a send to that."""
    models: Annotated[tuple[ModelName, ...], Field(max_length=8)] = ()
    """escalate: the ladder, cheapest first. council: who debates."""
    per_rung: Laps = 2
    """escalate: most failed laps on one rung."""
    judge: ModelName | None = None
    """optimize: who judges. council: who decides; None: the captain."""
    advisor: ModelName | None = None
    """council: who compares plan and diff."""
    rubric: Annotated[str, Field(max_length=200_000)] | None = None
    """optimize: by what it is judged."""
    bar: Annotated[float, Field(ge=0, le=100)] = 90.0
    """optimize: the score that is good enough, of 100."""
    patience: Laps = 2
    """optimize: so many laps in a row without a better score are a standstill."""
    dry_rounds: Laps = 2
    """sweep: so many rounds in a row that find nothing new are the end."""
    rounds: Annotated[int, Field(ge=1, le=10)] = 2
    """council: rounds of debate."""
    seats: Annotated[tuple[Seat, ...], Field(max_length=12)] = ()
    """opinion: who is asked."""
    spares: Annotated[int, Field(ge=0, le=4)] = 0
    """opinion: so many of them, the last ones, only where the others gave fewer than two answers."""
    contract: Annotated[str, Field(max_length=2000)] | None = None
    """opinion: what an answer looks like (``lanes/advice/contracts.py``)."""
    judging: Literal["differ", "always", "never"] = "differ"
    """opinion: when a judge looks; ``judge`` None: the strongest model here that was not asked."""


class LoopRequest(Message):
    """client → gateway: one loop as a person asked for it."""

    loop_id: LoopId
    """Chosen by the client: asking again after a lost answer makes no second loop."""
    terms: LoopTerms
    limits: LoopLimits = LoopLimits()
    common: JobRequest
    """What holds for every lap, the task included."""
    launch: bool = False
    """council: build as soon as the plan is decided."""


class LoopStep(Observation):
    """One job or one check of a loop."""

    number: int
    role: Role
    lap: int
    """0: before anything was done."""
    who: int = 0
    """Which of the models: a rung, or a seat in the debate."""
    round: int = 0
    """council: the round of the debate."""
    segment: int = 0
    """How often the loop had been resumed when it began."""
    model: str | None = None
    job_id: JobId | None = None
    session_id: SessionId | None = None
    """The session that it is a turn of, where it is no job."""
    attempt: int | None = None
    """Which launch of that session's program had the turn; None where what was sent did not reach it."""
    conversation: str | None = None
    """The conversation that got what was sent, by its CLI's own id; None where it did not, or names none."""
    turns: int | None = None
    """How many turns of it were over with this one."""
    began: float
    """Epoch seconds."""
    ended: float | None = None
    state: str | None = None
    """A job's final state, or ``refused``; a check's verdict."""
    seconds: float | None = None
    code: int | None = None
    """A check's exit status."""
    fingerprint: str | None = None
    """Of a check's failure: the same for the same failure."""
    detail: str | None = None
    """What it came to, in a line: untrusted where a delegate or a check said it."""
    hint: str | None = None
    cwd: str | None = None
    """Where the job worked, once it has ended."""
    worktree: str | None = None
    branch: str | None = None
    changed: tuple[str, ...] = ()
    """Files of the check that are not as they were, once the job has ended."""
    cash_usd: float | None = None
    """Cash of the job, as far as known."""
    measured: bool = True
    """Whether every part of that was measured."""
    unknown: int = 0
    """Attempts of the job that cost cash nobody knows."""
    plan: str | None = None
    """The plan that the job spent, where it spent one."""
    plan_used: float | None = None
    """How far the fullest window of that plan was used then, from 0 to 1; None: nobody told."""
    score: float | None = None
    """A judge's, of 100; None where it gave none."""
    found: int | None = None
    """sweep: findings that were new; None where the answer was none. opinion: answers that it gave: 1 or 0."""
    agrees: bool | None = None
    """An advisor's word: whether the work is what was planned; None where it gave none. A judge's: whether it ruled."""


class LoopRecord(Observation):
    """Everything that is kept of a loop. Built from its facts alone (``state/loop_records.py``)."""

    loop_id: LoopId
    label: str | None = None
    terms: LoopTerms
    limits: LoopLimits
    verb: Verb
    cwd: str
    """The folder that it was asked for in."""
    real: str | None = None
    """What that was without links: one that leads elsewhere later is not worked in."""
    model: str | None = None
    lane: str | None = None
    worktree: bool = False
    """Whether the first lap gets a git work tree of its own, in which the others and the check go on."""
    first_job: JobId | None = None
    """The first lap's job, where it gets a work tree: the tree is named by it."""
    base: str | None = None
    """The commit that was checked out when the loop began; None outside a repository."""
    steps: tuple[LoopStep, ...] = ()
    segment: int = 0
    """How often it was resumed."""
    accepted_at: float
    """Epoch seconds."""
    segment_began: float
    """Epoch seconds when it was accepted, or resumed last."""
    spent_s: float = 0.0
    """Seconds of the segments before."""
    launched: bool = False
    """council: whether the plan may be built."""
    cancel_requested: bool = False
    end: LoopEnd | None = None
    reason: str | None = None
    hint: str | None = None
    ended: float | None = None
    """Epoch seconds."""
    owner: Identity | None = None
    """The command that supervises the loop itself; None when the supervisor process does."""


class LoopAccepted(Observation):
    """Loops, before the caller is told anything: the loop exists."""

    kind: Literal["loop.accepted"] = "loop.accepted"
    loop_id: LoopId
    record: LoopRecord


class LoopStepBegan(Observation):
    """Loop, before a job is asked for or a check is run: its id is known from here on, so it is never run twice."""

    kind: Literal["loop.step_began"] = "loop.step_began"
    loop_id: LoopId
    step: LoopStep
    instead_of: str | None = None
    """The job or session that it was to be before, whose id somebody else had: without it a step begins once."""


class LoopStepEnded(Observation):
    """Loop, when a job has ended or a check has its verdict."""

    kind: Literal["loop.step_ended"] = "loop.step_ended"
    loop_id: LoopId
    step: LoopStep


class LoopCancelRequested(Observation):
    """Loops, when somebody asked for the end of a loop."""

    kind: Literal["loop.cancel_requested"] = "loop.cancel_requested"
    loop_id: LoopId


class LoopResumed(Observation):
    """Loops, when somebody let an ended loop go on, with bounds that are no lower than before."""

    kind: Literal["loop.resumed"] = "loop.resumed"
    loop_id: LoopId
    limits: LoopLimits
    launched: bool = False
    owner: Identity | None = None


class LoopEnded(Observation):
    """Loop, with its one end."""

    kind: Literal["loop.ended"] = "loop.ended"
    loop_id: LoopId
    end: LoopEnd
    reason: str
    hint: str | None = None


LoopFact = LoopAccepted | LoopStepBegan | LoopStepEnded | LoopCancelRequested | LoopResumed | LoopEnded
"""Facts that make a loop's record."""


class LoopStart(Message):
    """client → Loops; ``loop_accepted`` once journalled, ``loop_planned`` on a dry run, or ``refused``."""

    kind: Literal["loop.start"] = "loop.start"
    request: LoopRequest
    dry_run: bool = False


class LoopCancel(Message):
    """client → Loops; ``loop_view`` after the request is journalled. Repeating it is harmless."""

    kind: Literal["loop.cancel"] = "loop.cancel"
    loop_id: LoopId


class LoopResume(Message):
    """client → Loops; ``loop_view`` once journalled, or ``refused``: it runs, has succeeded, or a bound is lower."""

    kind: Literal["loop.resume"] = "loop.resume"
    loop_id: LoopId
    laps: Laps | None = None
    seconds: Seconds | None = None
    usd: Usd | None = None
    plan_percent: Percent | None = None
    launch: bool = False
    """council: the plan may be built."""
    plan: Annotated[str, Field(max_length=1_000_000)] | None = None
    """council: the captain's own plan."""
    cloud_ack: bool = False
    environment: str = Field(default="", repr=False)
    """As in ``job.submit``: laps to come see this one."""
