"""A job as data: what was asked for, what was decided, what is known of it now."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .base import Message, Observation
from .vocabulary import JOB_ID_PATTERN, Effort, JobState, Tier, Verb

JobId = Annotated[str, StringConstraints(pattern=JOB_ID_PATTERN)]

_PRINTED = r"[^\x00-\x1f\x7f]+"
"""A text on one line. Its length is bounded apart: counting a class of Unicode in the pattern costs megabytes."""
LaneName = Annotated[str, StringConstraints(pattern=rf"^([a-z][a-z0-9_.:-]{{0,63}}|acp:{_PRINTED})$", max_length=504)]
ModelName = Annotated[str, StringConstraints(pattern=f"^{_PRINTED}$", max_length=1024)]
"""What may be a model's name is the catalog's to judge: it may hold a path of the person's own."""
Label = Annotated[str, StringConstraints(pattern=f"^{_PRINTED}$", max_length=80)]

CheckLine = Annotated[str, StringConstraints(pattern=r"^[^\x00]*[^\x00\s][^\x00]*$", max_length=10_000)]
"""A line for the shell."""

GrantName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,127}$")]

JobWord = Annotated[str, StringConstraints(pattern=f"^{_PRINTED}$", max_length=128)]
"""What a person may call a job by: its id, a prefix of that, or its label."""

JOB_ID = re.compile(JOB_ID_PATTERN)


class JobRequest(Message):
    """client → gateway: one job as a person asked for it. ``None`` means "you choose"."""

    job_id: JobId | None = None
    """Chosen by the client: asking again after a lost answer makes no second job."""
    verb: Verb = Verb.RUN
    task: str | None = None
    """The task text; exactly one of ``task`` and ``task_file`` is set."""
    task_file: str | None = None
    """Absolute path of a file that holds the task (large tasks are spooled by the client)."""
    model: ModelName | None = None
    lane: LaneName | None = None
    effort: Effort | None = None
    tier: Tier | None = None
    cwd: str
    """Absolute folder the delegate works in."""
    timeout_s: Annotated[float, Field(gt=0, le=30 * 86400)] | None = None
    """Hard cap in seconds; also switches the cap's extension off."""
    check: CheckLine | None = None
    """A line for the shell that proves the work: it is run once the delegate has answered, and its exit decides."""
    check_timeout_s: Annotated[float, Field(gt=0, le=30 * 86400)] = 300.0
    label: Label | None = None
    allow_downgrade: bool = False
    skills: Annotated[tuple[GrantName, ...], Field(max_length=100)] = ()
    """Skills of the person's own that the delegate gets; ``all`` is every one."""
    mcp: Annotated[tuple[GrantName, ...], Field(max_length=100)] = ()
    """MCP servers of the person's own that the delegate gets, by name."""
    worktree: bool | None = None
    """Whether it works in a git work tree of its own; None: as the settings say."""
    after: Annotated[tuple[JobWord, ...], Field(max_length=1000)] = ()
    """Jobs that must be done before it starts: ids, prefixes of them, or labels."""
    priority: Annotated[int, Field(ge=-1000, le=1000)] = 0
    """The greater one starts first."""
    continues: JobId | None = None
    """The ended job whose conversation is gone on with: its lane, folder and verb are taken over."""
    retries: JobId | None = None
    """The ended job whose task is done anew; where both have one label, it then means this one."""
    wait_limit: bool = False
    """Wait where a limit is met until it ends, instead of being refused or going elsewhere."""
    no_advise: bool = False
    """Never choose by advice, whatever the mode says."""
    trust_lane: bool = False
    cloud_ack: bool = False
    environment: str = Field(default="", repr=False)
    """The caller's environment: base64 of NUL-joined ``NAME=value`` bytes. Never journalled or logged."""


class Identity(Observation):
    """A process, for good: pids are reused, start times within one boot are not."""

    pid: Annotated[int, Field(gt=0)]
    started: float
    """Process start time, as the platform's own unit (Linux: clock ticks since boot; else epoch seconds)."""
    boot_id: str


class TokenUsage(Observation):
    """Tokens as the vendor counts them; ``None`` is unknown, never zero."""

    input: int | None = None
    """Uncached prompt tokens."""
    cached_input: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None


class Cost(Observation):
    """What the job cost. Cash is kept apart from plan use."""

    kind: Literal["free", "plan", "metered", "unknown"] = "unknown"
    cash_usd: float | None = None
    measured: bool = False
    """True only when a provider's own receipt says so."""
    plan: str | None = None
    """Name of the plan whose limits were spent."""
    tokens: TokenUsage | None = None
    tokens_of: Literal["run", "conversation"] = "run"
    """``conversation``: the CLI counts from the conversation's beginning, earlier jobs included."""


class Progress(Observation):
    """What has been seen of a delegate's work so far."""

    last_marker: str | None = None
    reads: int = 0
    writes: int = 0
    bash: int = 0
    percent: int | None = None


class ExitStatus(Observation):
    """How a delegate's process ended: exactly one field is set, or none when it was lost."""

    code: int | None = None
    signal: int | None = None
    lost: bool = False
    """True when nobody was there to see it (the shim was killed, or the machine went down)."""
    error: str | None = None
    """Why the delegate could not be started at all."""


class Attempted(Observation):
    """An attempt that is over, though its job is not: where it ran, how it failed, what it cost."""

    attempt: int
    lane: str
    vehicle: str
    model: str | None = None
    model_observed: str | None = None
    conversation: str | None = None
    """The CLI's own id of what was said there: nobody else's, though the job went on without it."""
    outcome: str | None = None
    reason: str | None = None
    exit_status: ExitStatus | None = None
    cost: Cost = Cost()
    pool: str | None = None
    """Whose limit or money it spent."""
    ended: float | None = None
    """Epoch seconds."""
    why: str
    """What followed, in a sentence."""


class JobRecord(Observation):
    """Everything that is kept of a job. Built from its facts alone (``state/records.py``)."""

    job_id: JobId
    label: str | None = None
    group_id: str | None = None
    lane: str
    vehicle: str
    provider: str
    """The lane's word in the predecessor, kept for its users' scripts."""
    verb: Verb
    posture: str
    shape: Literal["one-shot", "session"] = "one-shot"
    model: str | None = None
    model_observed: str | None = None
    tier: Tier = Tier.MID
    effort: Effort | None = None
    task_kind: str | None = None
    """What kind of task it is (``lanes/advice/classify.py``); None: it was not looked at."""
    project: str | None = None
    """The root of the work tree that it was asked for in: its history is kept by it."""
    cwd: str
    """Where the delegate works."""
    worktree: str | None = None
    """The git work tree that was made for it; it stays when the job has ended."""
    branch: str | None = None
    """The branch of that tree."""
    base: str | None = None
    """The commit that the branch began at."""
    after: tuple[JobId, ...] = ()
    """Jobs that must be done before it starts."""
    priority: int = 0
    local: bool = False
    streamed: bool = True
    agentic: bool = True
    timeout_s: float | None = None
    check: str | None = None
    """The command that proves its work; None: nothing but the delegate's word."""
    check_timeout_s: float = 300.0
    windows: dict[str, float] = Field(default_factory=dict)
    """The watchdog settings that were set where the job was asked for, by key (``stall_warn`` ...)."""
    state: JobState = JobState.QUEUED
    exit: int | None = None
    """Exit code of the job in our own terms (cli.md), set when it has ended."""
    exit_status: ExitStatus | None = None
    """How the delegate's own process ended."""
    reason: str | None = None
    outcome: str | None = None
    accepted_at: float
    """Epoch seconds."""
    started: float | None = None
    ended: float | None = None
    attempt: int = 0
    pool: str | None = None
    """Whose limit a run spends (``lanes/catalog/pools.py``)."""
    hops: tuple[Attempted, ...] = ()
    """Earlier attempts, oldest first; what stands elsewhere in the record is of the newest."""
    group_most: int | None = None
    """Most members of its group that run at the same time: kept here too, so that a lost group can be made anew."""
    parked: bool = False
    """Whether it waits for its turn in its group, and is not to be started before."""
    wake_at: float | None = None
    """Epoch seconds until which the job waits for a limit to end; None: it waits for none."""
    marker_id: str | None = Field(default=None, repr=False)
    """Signs this attempt's markers. Never shown, never in an environment."""
    shim: Identity | None = None
    delegate: Identity | None = None
    conversation: str | None = None
    """The CLI's own id of this conversation."""
    continues: str | None = None
    """Id of the earlier job whose conversation this one goes on with."""
    retries: str | None = None
    """Id of the earlier job whose task this one does anew."""
    progress: Progress = Progress()
    cost: Cost = Cost()
    owner: Identity | None = None
    """The command that supervises the job itself; None when the supervisor process does."""
    supervision: Literal["supervised", "attached", "gave-up"] = "supervised"
    cancel_requested: bool = False
    ending: str | None = None
    """Why the tree is being ended (``state/watchdog.py`` names the causes), once it is."""
    note: str | None = None
