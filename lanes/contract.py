"""What a lane is: data, and pure functions over data.

    launch = lane.plan(task, host)        # argv, env, stdin: or Refused
    parser = lane.parser(task)            # bytes in, events out
    events = parser.feed(chunk)           # the same events however the bytes are cut
    events = parser.finish(exit_status)   # what the end of output means; ends with TurnEnded
    failure = lane.classify(ending)       # why it failed; in doubt, the task

A lane MUST be deterministic, MUST NOT raise on any bytes, and MUST refuse what it can't honour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol

from ..messages.job import ExitStatus, TokenUsage
from ..messages.lane_events import FailureKind, LaneEvent
from ..messages.refusals import Refused
from ..messages.vocabulary import Effort, Tier, Verb
from . import credentials
from .folder_settings import FolderFile


class Stream(StrEnum):
    """Which of the delegate's outputs some bytes came from."""

    OUT = "out"
    ERR = "err"
    REPORT = "report"
    """The whole of the file that ``Lane.report`` names, after both outputs have ended."""


class Posture(StrEnum):
    """What a verb really means on a lane, in the words people see."""

    READ_ONLY = "READ-ONLY"
    WORKSPACE_WRITE = "WORKSPACE-WRITE sandbox"
    SANDBOXED = "SANDBOXED autonomy"
    MUTATING = "MUTATING"
    DANGER = "DANGER (no sandbox, approvals bypassed)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A job as a lane sees it. ``prompt`` is already scaffolded."""

    verb: Verb
    prompt: str
    cwd: str
    model: str | None = None
    """The id to send, resolved by the catalog; None is the CLI's own default."""
    effort: Effort | None = None
    tier: Tier = Tier.MID
    allow_downgrade: bool = False
    conversation: str | None = None
    """The CLI's own id of the conversation to go on with; only where ``Lane.resume`` says that it can."""
    skills: bool = False
    """Whether skills were granted as files: they lie in ``{job}/skills``, which the delegate must be able to read."""
    servers: tuple[str, ...] = ()
    """Names of the MCP servers that were granted; ``{job}/mcp.json`` configures them and no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a lane may know of the machine. Read by ``actors/host.py`` before the lane is asked."""

    environment: Mapping[str, str]
    """The caller's environment, decoded with surrogateescape."""
    executables: Mapping[str, str | None]
    """Program name → absolute path on the caller's PATH, or None."""
    python: str = "python3"
    """The interpreter that runs Outsourcerer, for delegate programs of its own."""
    home: str = "/"
    """The caller's home folder."""
    is_root: bool = False
    walled: bool = False
    """Whether this very run will see the work tree read-only, by a wall of ours (only read-only verbs of lanes
    whose ``wall`` is ours)."""
    trust_folder: bool = False
    """Whether the person stands behind what the work folder itself sets for a CLI."""
    project: tuple[str, ...] = ()
    """The job's folder and those above it, up to its repository's root; nearest first."""
    platform: str = "linux"
    server: str | None = None
    """Base URL of the OpenAI-compatible server found for the local lane, ``.../v1``."""
    server_models: tuple[str, ...] = ()
    """What that server lists, first first."""
    catalogue: tuple[str, ...] = ()
    """What the lane's CLI listed of its own models when it was last asked (``Lane.listing``)."""
    own_servers: tuple[str, ...] | None = ()
    """What the lane's CLI lists of MCP servers that it would start (``Lane.own_servers``); None: it was no answer."""
    embedded_model: str | None = None
    """Path of the demo model's GGUF, where it is installed."""
    embedded_runtime: bool = False
    """Whether the embedded runtime can be imported."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The lane's own ``secrets`` that were found, by name. They may only go into ``Launch.env_set``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateFile:
    """A file to write 0600 into the job folder before the launch. ``{job}`` in argv is that folder."""

    name: str
    """May have folders in it, with ``/``."""
    content: bytes = field(repr=False)
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Billing:
    """Who pays for a run, as dated data (billing rules change)."""

    kind: Literal["free", "plan", "metered", "unknown"]
    pool: str
    words: str
    """The cost words that people see, for example ``$0 cash, spends your Claude plan limits``."""
    plan: str | None = None
    as_of: str = "2026-11"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A process to start: a value, so that whoever runs it may be elsewhere."""

    argv: tuple[str, ...]
    """Absolute program first. Where ``files`` is not empty, ``{job}`` in an item stands for the job folder;
    without files an item is taken as it is, so that a prompt in it is never read."""
    env_set: Mapping[str, str] = field(default_factory=dict, repr=False)
    env_strip: frozenset[str] = frozenset()
    """Names to remove; a trailing ``*`` removes every name with that prefix."""
    stdin: bytes | None = field(default=None, repr=False)
    """None is ``/dev/null``. Bytes are written to a private file that becomes stdin."""
    files: tuple[PrivateFile, ...] = ()
    notices: tuple[str, ...] = ()
    """Sentences for the person, for example what an effort word was turned into."""
    billing: Billing | None = None
    """Who pays, where the environment decides otherwise than the lane says (an API key is set)."""
    model: str | None = None
    """The id that is really sent, where the plan made it: of a word, or where none was named."""
    effort: str | None = None
    """The CLI's own word for the effort, where it is told of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTask:
    """A session as a lane sees it. What it is given later goes over its connection, never in argv."""

    cwd: str
    model: str | None = None
    effort: Effort | None = None
    conversation: str | None = None
    """The CLI's own id of the conversation to go on with."""
    fresh: str | None = None
    """A UUID that nobody has used: for a new conversation, where its CLI lets somebody else name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLaunch:
    """A live delegate to start: like ``Launch``, with the engine that talks with it."""

    argv: tuple[str, ...]
    engine: str
    """Key of ``actors/transports/engine.py``'s table."""
    options: Mapping[str, str | None] = field(default_factory=dict)
    """What that engine wants to know: the model, the conversation, the words for an effort."""
    env_set: Mapping[str, str] = field(default_factory=dict, repr=False)
    env_strip: frozenset[str] = frozenset()
    files: tuple[PrivateFile, ...] = ()
    """Written into the session's folder, which ``{job}`` in argv stands for."""
    next_minute: bool = False
    """Whether a conversation may only be taken up in another minute than that in which it was last begun."""
    contended: tuple[str, ...] = ()
    """What its program says, in small letters, where another start of it held what it needs: nothing was begun, and it
    is started again."""
    notices: tuple[str, ...] = ()
    billing: Billing | None = None
    model: str | None = None
    """As in ``Launch``."""
    effort: str | None = None
    """As in ``Launch``."""


SessionPlan = Callable[[SessionTask, Host], "SessionLaunch | Refused"]


class Locality(StrEnum):
    """Whether what the lane is given leaves the machine."""

    LOCAL = "local"
    CLOUD = "cloud"


class Wall(StrEnum):
    """What keeps a read-only verb read-only."""

    OWN = "own"
    """The CLI's own: an operating-system sandbox, or tools that don't exist in that mode."""
    OURS = "ours"
    """The CLI's mode is a rule or a judgement that a shell command gets around. The work tree is bound
    read-only for it where the machine can do that, and compared before and after in any case."""


class Road(StrEnum):
    """How a person's skills reach a delegate (``lanes/grants.py``)."""

    BUNDLE = "bundle"
    """Copied into the job folder, whose paths the prompt names: for agents that read outside the work tree."""
    TEXT = "text"
    """Inlined into the prompt."""
    NONE = "none"


class EffortSupport(StrEnum):
    """How a lane takes ``--effort``."""

    NATIVE = "native"
    ADVISORY = "advisory"
    """Only as words in the prompt."""


class ReadinessLevel(StrEnum):
    """How far a lane is known to work; each level includes those before it."""

    ABSENT = "absent"
    INSTALLED = "installed"
    SIGNED_IN = "signed-in"
    ANSWERING = "answering"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFacts:
    """What ``actors/host.py`` saw of a lane's program."""

    host: Host
    version_output: bytes | None = None
    """stdout of ``version_argv``; None when it was not run or failed."""
    version_exit: int | None = None
    status_output: bytes | None = None
    """stdout and stderr of ``status_argv``; None when it was not run or did not end in time."""
    credentials: frozenset[str] = frozenset()
    """Those of the lane's ``credential_files`` that exist (paths as the lane wrote them)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """A lane's state on this machine. ``fix`` is the one command that helps."""

    level: ReadinessLevel
    detail: str
    version: str | None = None
    tested: bool | None = None
    """Whether that version is one the lane was tested with; None when unknown."""
    fix: str | None = None
    signed_in: bool | None = None
    """Whether a sign-in or a key was seen; False: where its program keeps one there is none; None: nobody can see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What ``classify`` judges by."""

    exit: ExitStatus
    turn: LaneEvent | None
    """The last ``TurnEnded``, if any."""
    retries: tuple[int, ...] = ()
    """HTTP statuses of the retries that were seen."""
    tail: str = ""
    """The last few KiB of stderr, control sequences stripped."""


class Parser(Protocol):
    """Incremental: holds what it needs of what it has seen, and no more than ``LINE_CAP`` bytes of a line."""

    def feed(self, data: bytes, stream: Stream = Stream.OUT) -> list[LaneEvent]:
        """Return the events that ``data`` completes. MUST NOT raise, whatever the bytes."""
        ...

    def finish(self, exit_status: ExitStatus) -> list[LaneEvent]:
        """Return the events that the end of output completes: always ends the turn exactly once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Liveness:
    """How silence is judged on a lane; windows in seconds, None is the tier's own."""

    streamed: bool = True
    """False: nothing may come before the end, so silence is judged by files, CPU and children."""
    stall_kill_floor_s: float | None = None
    """Never end the lane for silence before this."""
    first_output_s: float | None = None
    final_grace_s: float = 20.0
    """How long the process may stay after its own final event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """How a CLI is asked which models it has. Run in an empty folder, and only when a person refreshes the lists."""

    program: str
    argv: tuple[str, ...]
    read: Callable[[bytes], tuple[str, ...]]
    """From its output, stdout and stderr together, to ids; nothing where it holds no list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServers:
    """How a CLI is asked which MCP servers of the person's it would start. Run in the work folder, before a plan."""

    program: str
    argv: tuple[str, ...]
    read: Callable[[bytes], tuple[str, ...] | None]
    """From its output to the names; None where it holds no list."""
    wanted: str
    """Variable that, set to 1, lets them start: nothing is asked then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One lane. Two lanes may share a vehicle (Claude Code on a plan, or over an API)."""

    name: str
    provider: str
    """The predecessor's provider word, accepted as a synonym and kept in the job object."""
    vehicle: str
    summary: str
    homepage: str
    install: str
    """One sentence that says how to get it."""
    binary: str | None
    """Program name looked up on PATH; None when the lane needs none."""
    version_argv: tuple[str, ...] = ("--version",)
    status_argv: tuple[str, ...] | None = None
    """A quick command of the CLI that says whether somebody is signed in; None where files or keys tell."""
    min_version: tuple[int, ...] | None = None
    tested_versions: tuple[str, ...] = ()
    verbs: Mapping[Verb, Posture]
    """What the lane can honour; a verb that is absent is refused with the lanes that can."""
    wall: Wall = Wall.OWN
    """What holds the read-only verbs."""
    state: tuple[str, ...] = ()
    """Folders that the CLI writes its own state to, with ``~``: they stay writable, and are never compared,
    where they lie inside the work tree (somebody works in their home folder)."""
    forbidden_by_others: frozenset[Verb] = frozenset()
    """Verbs that an organisation may forbid on the lane: one that was refused for want of permission is remembered."""
    effort: EffortSupport = EffortSupport.ADVISORY
    billing: Billing
    payer: Callable[[Host], Billing] | None = None
    """Who pays on this machine, where that depends on what is set there (a key): then this decides."""
    locality: Locality = Locality.CLOUD
    goes_to: str = "wherever its program sends it"
    """Whom the work goes to, in the words that a person is told."""
    redirects: tuple[str, ...] = ()
    """Variables of the environment that name another server."""
    own_config: str | None = None
    """The variable that, set to 1, has its program heed the person's own configuration, which may name another
    provider."""
    rules: tuple[str, ...] = ()
    """The person's own rule files, with ``~``, that its program sends along where they are there."""
    agentic: bool = True
    """Whether the delegate has tools of its own (False: it only answers in text)."""
    works: Callable[[Verb, Host], bool] | None = None
    """The same where it depends on the verb and on settings: then this decides."""
    heeds: tuple[FolderFile, ...] = ()
    """What its CLI reads from the work folder that can redirect it or runs unasked, and can't be switched off."""
    listing: Listing | None = None
    """Where its CLI can be asked for its models."""
    own_servers: OwnServers | None = None
    """Where its CLI keeps the person's MCP servers out only by their names: how these are found out."""
    skills: Road = Road.TEXT
    """By which road ``--with skills=`` goes."""
    road: Callable[[Host], Road] | None = None
    """The same where it depends on the program that is there: then this decides."""
    no_bundle: str = "whether its program reads files outside the work tree was not seen"
    """Why skills go as text, where they do."""
    mcp: bool = False
    """Whether ``--with mcp=`` can be honoured: ``plan`` then heeds ``Task.servers``."""
    servers: Callable[[Mapping[str, Mapping[str, Any]]], bytes] | None = None
    """What ``{job}/mcp.json`` holds for these servers, where its program wants another form than Claude Code's."""
    resume: tuple[str, ...] = ()
    """The words of its command that take up a conversation, ``{conversation}`` among them; empty: it can't."""
    no_resume: str = "how its program takes up an earlier one by its id is not known here"
    """Why it can't, where it can't."""
    scaffold: bool = True
    """Whether the prompt is wrapped with the marker protocol (False: the bare task is sent)."""
    liveness: Liveness = Liveness()
    credential_files: tuple[str, ...] = ()
    """Places whose existence suggests a sign-in, with ``~``. Never opened."""
    executables: tuple[str, ...] = ()
    """Further programs the lane looks for on PATH."""
    secrets: tuple[str, ...] = ()
    """Names of the keys it needs, read one by one: the environment first, then ``~/.env``."""
    own: credentials.Own = credentials.NONE
    """The credentials that its program takes from the caller's environment; every other one is withheld from it."""
    report: str | None = None
    """Name of a file in the job folder to which the CLI writes at its end what its stream does not tell.
    ``plan`` puts it there empty (``Launch.files``) and names it in the command."""
    receipts: Literal["openrouter"] | None = None
    """Who can be asked afterwards what each generation named in the stream really cost."""
    meter: Callable[[bytes], TokenUsage | None] | None = None
    """Reads off the end of Codex's rollout what its thread has used, where the stream tells that only at the end."""
    needs: frozenset[Literal["server", "embedded", "bridge"]] = frozenset()
    """Facts of the host that cost something to find out and that this lane plans by."""
    default_tier: Tier = Tier.MID
    sessions: Mapping[str, SessionPlan] = field(default_factory=dict)
    """Transport (``native``, ``acp``, ``pty``) → how a session is started over it; the first is the default."""
    plan: Callable[[Task, Host], Launch | Refused]
    parser: Callable[[Task], Parser]
    classify: Callable[[Ending], FailureKind]
    probe: Callable[[ProbeFacts], Readiness]
    source: str = "built-in"
    """Where the lane was declared: ``built-in``, or the path of its TOML file."""
