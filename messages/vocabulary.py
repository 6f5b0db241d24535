"""The words every part shares. Standard library only: the front end imports this on its hot paths."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

PROTOCOL = 1
"""Wire protocol number. A new optional field needs no new number; removing or renaming one does."""

FRAME_LIMIT = 8 * 1024 * 1024
"""Longest frame in bytes, newline included. Longer ones are refused, never buffered."""

SCHEMA_VERSION = "1"
"""``schema_version`` of every ``--json`` object."""


class Verb(StrEnum):
    """What the delegate may do. The verb is the permission mode."""

    RUN = "run"
    EXPLORE = "explore"
    RESEARCH = "research"
    EDIT = "edit"
    YOLO = "yolo"

    @property
    def may_write(self) -> bool:
        """Whether the verb grants changes to the work tree."""
        return self in (Verb.EDIT, Verb.YOLO)

    @property
    def read_only(self) -> bool:
        """Whether the verb promises that nothing is changed."""
        return self in (Verb.RUN, Verb.EXPLORE)


class Tier(StrEnum):
    """Capability class of a model: picks the prompt scaffold and the watchdog windows."""

    FRONTIER = "frontier"
    CAPABLE = "capable"
    MID = "mid"
    BUDGET = "budget"
    RAW = "raw"


class Effort(StrEnum):
    """Reasoning effort, from least to most."""

    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    MAX = "max"


class JobState(StrEnum):
    """Every state a job can be in; the transitions are in ``state/job_machine.py``."""

    QUEUED = "queued"
    LAUNCHING = "launching"
    RUNNING = "running"
    STALLED = "stalled?"
    EXPLORING = "exploring?"
    NO_PROGRESS_WRITES = "no-progress-writes"
    WAITING_LIMIT = "waiting-limit"
    NEEDS_ANSWER = "needs-answer"
    DONE = "done"
    DONE_UNVERIFIED = "done?"
    BLOCKED = "blocked"
    PERMISSION_BLOCKED = "permission-blocked"
    INTERRUPTED = "interrupted"
    TIMEOUT = "timeout"
    WEDGED = "wedged"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def terminal(self) -> bool:
        """Whether the job has ended."""
        return self in TERMINAL_STATES


TERMINAL_STATES = frozenset(
    {
        JobState.DONE,
        JobState.DONE_UNVERIFIED,
        JobState.BLOCKED,
        JobState.PERMISSION_BLOCKED,
        JobState.INTERRUPTED,
        JobState.TIMEOUT,
        JobState.WEDGED,
        JobState.FAILED,
        JobState.CANCELED,
    }
)

LIVE_STATES = frozenset(set(JobState) - TERMINAL_STATES)


class ToolKind(StrEnum):
    """What a tool call can do to the world; the tally shown to people counts these."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    OTHER = "other"


class FailureKind(StrEnum):
    """Why a turn failed. In doubt it is ``TASK``, and a task failure is never retried elsewhere."""

    NONE = "none"
    TRANSPORT = "transport"
    PLAN_LIMIT = "plan-limit"
    RATE_LIMIT = "rate-limit"
    AUTH = "auth"
    PERMISSION = "permission"
    MODEL_GONE = "model-gone"
    OUTPUT_LIMIT = "output-limit"
    INTERRUPTED = "interrupted"
    LAUNCH = "launch"
    CONTENDED = "contended"
    """It could not start: another start of the same CLI held what it needs. No model was asked yet."""
    TASK = "task"


class SessionMode(StrEnum):
    """What a live session may do without asking the person."""

    PLAN = "plan"
    """It reads and plans."""
    ASK = "ask"
    """It asks before it changes anything: what every session starts with."""
    EDITS = "edits"
    """It changes files in its folder without asking."""
    YOLO = "yolo"
    """It asks nothing."""

    @property
    def escalates(self) -> bool:
        """Whether it may do more unasked than a session may as it was started."""
        return self in (SessionMode.EDITS, SessionMode.YOLO)


Told = Literal["passed", "failed", "reverted"]
"""What a person, or a check, said became of a job's result."""


class SessionState(StrEnum):
    """Every state a session can be in; the transitions are in ``state/session_machine.py``."""

    STARTING = "starting"
    TRUST = "trust"
    """Its terminal shows a question whether the folder is trusted."""
    LOGIN = "login"
    """It wants a sign-in, or a way to sign in chosen."""
    MENU = "menu"
    """Its terminal shows some other menu."""
    IDLE = "idle"
    """It can be given something."""
    WORKING = "working"
    WAITING_APPROVAL = "waiting-approval"
    """It asks whether it may do something: ``session answer``."""
    LIMIT = "limit"
    """It says that a limit of the plan is used up."""
    UNKNOWN = "unknown"
    """What was seen is not understood, and nothing is typed into it."""
    EXITED = "exited"
    """The program has ended."""
    LOST = "lost"
    """Its holder died; what it was in the middle of is not known."""

    @property
    def ended(self) -> bool:
        """Whether nobody is there who could be given anything."""
        return self in (SessionState.EXITED, SessionState.LOST)


JOB_ID_PATTERN = r"^[0-9]{8}-[0-9]{6}-[0-9a-f]{12}$"
"""``YYYYmmdd-HHMMSS-xxxxxxxxxxxx`` (UTC, then 48 random bits)."""

GROUP_ID_PATTERN = r"^[a-z]{2,12}-[0-9]{8}-[0-9]{6}-[0-9a-f]{12}$"
"""``fanout-YYYYmmdd-HHMMSS-xxxxxxxxxxxx``: what kind of group it is, then as a job's id."""


def repeats(state: object, words: object) -> bool:
    """Whether words about a state only say its name again.

    >>> repeats("failed", "Failed."), repeats("done?", "done"), repeats("failed", "no room"), repeats("failed", None)
    (True, True, False, False)
    """
    if not isinstance(state, str) or not isinstance(words, str):
        return False
    return words.strip(" .:!?").casefold() == state.strip("?").casefold()
