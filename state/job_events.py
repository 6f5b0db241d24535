"""What a job's machine is told (events) and what it wants done (effects), as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..messages.vocabulary import JobState
from .watchdog import Cause


@dataclass(frozen=True, slots=True)
class Now:
    """Both clocks, in seconds. They drift apart when the machine sleeps or the wall clock is set."""

    wall: float
    mono: float


class ProcessState(StrEnum):
    """What the kernel says of a process that our records name by pid, start time and boot."""

    RUNNING = "running"
    STOPPED = "stopped"
    ZOMBIE = "zombie"
    GONE = "gone"


# --- events: what was seen -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SlotGranted:
    """The queue lets the job start."""


@dataclass(frozen=True, slots=True)
class Relaunched:
    """A launch was proved never to have happened (its claim was still free): the next attempt may start."""


@dataclass(frozen=True, slots=True)
class Spawned:
    """The delegate's process exists."""


@dataclass(frozen=True, slots=True)
class Life:
    """Output came. Flags say what it proved."""

    initialised: bool = False
    wrote: bool = False
    acted: bool = False
    """The delegate spoke or called a tool: an earlier final event was not final."""


@dataclass(frozen=True, slots=True)
class FinalSeen:
    """The CLI's own final event came; the process should leave by itself now."""


@dataclass(frozen=True, slots=True)
class LimitWait:
    """The CLI says that it waits for its provider."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A signed NEED_INPUT marker came and the process is still there."""


@dataclass(frozen=True, slots=True)
class Hopeless:
    """What the CLI is doing can't succeed (it retries a rejected key, it meets only refusals)."""

    cause: Cause


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed; the delegate's process was looked at."""

    process: ProcessState


@dataclass(frozen=True, slots=True)
class Looked:
    """The answer to a ``LookClosely`` effect."""

    files: bool
    """Something under the work tree changed since the last sign of life."""
    busy: bool
    """The process tree used a noticeable share of a processor since the last look."""


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """Somebody asked for the end of the job."""

    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Exited:
    """The delegate's process is gone; the exit record, if there is one, is on disk."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on all evidence (``lanes/outcome.py``)."""

    state: JobState


@dataclass(frozen=True, slots=True)
class Revised:
    """Evidence that came after a watchdog's or a lost exit's verdict, of the same attempt."""

    state: JobState
    attempt: int


Event = (
    SlotGranted
    | Relaunched
    | Spawned
    | Life
    | FinalSeen
    | LimitWait
    | Asked
    | Hopeless
    | Tick
    | Looked
    | CancelRequested
    | Exited
    | Judged
    | Revised
)


# --- effects: what is to be done --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Launch:
    """Ask for a shim for this attempt; the decision must be journalled first."""

    attempt: int


@dataclass(frozen=True, slots=True)
class LookClosely:
    """Look at files and processor time; answer with ``Looked``."""


@dataclass(frozen=True, slots=True)
class EndTree:
    """End the delegate and everything it started."""

    cause: Cause
    grace_s: float


@dataclass(frozen=True, slots=True)
class Judge:
    """Read what is left of the output, then answer with ``Judged``."""


@dataclass(frozen=True, slots=True)
class Announce:
    """Say this to whoever watches."""

    sentence: str


Effect = Launch | LookClosely | EndTree | Judge | Announce
