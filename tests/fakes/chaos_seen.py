"""What can be known of a storm once it is over, as plain values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TERMINAL = frozenset(
    {"done", "done?", "blocked", "permission-blocked", "interrupted", "timeout", "wedged", "failed", "canceled"}
)


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must not be."""

    rule: str
    about: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.about}: {self.what}"


@dataclass(frozen=True, slots=True)
class Told:
    """A fact that was journalled, in which journal: a store that was damaged and made anew begins another."""

    generation: int
    seq: int
    kind: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A job that a caller asked for, under a label of its own."""

    label: str
    answer: str
    """``accepted``, ``refused`` (nothing was done), or ``unsure``."""
    job_id: str | None = None
    done: bool = False
    """Whether its script says DONE and ends well where nobody disturbs it."""


@dataclass(frozen=True, slots=True)
class Prompted:
    """A prompt that reached a delegate, and what of the end that delegate said in full."""

    job_id: str
    said_done: bool
    said_end: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """A send to a session: what its caller was told, and how often the delegate read it."""

    session_id: str
    number: int
    answer: str
    """``given``, ``refused`` or ``unsure``."""
    read: int
    session_lives: bool
    """Whether the session still took what it is given at the end, so that all of it must have been read."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process at the end."""

    pid: int
    kind: str
    """``stranger``, or what it is of ours."""
    about: str
    alive: bool
    signals: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that can be known of one history."""

    journal: Sequence[Told] = ()
    kept: Mapping[int, str] = field(default_factory=dict)
    """Sequence number → kind of what the newest journal holds now."""
    generation: int = 0
    """Which journal that is."""
    records: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Job id → its record at the end."""
    asked: Sequence[Asked] = ()
    prompts: Sequence[Prompted] = ()
    loops: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Loop id → its record at the end."""
    asked_loops: Sequence[Asked] = ()
    groups: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Group id → its record at the end."""
    checks: Mapping[str, int] = field(default_factory=dict)
    """``ID/FOLDER`` → how often the command of that check of a job or loop was started."""
    green: Collection[str] = ()
    """Those whose command ended with 0."""
    sends: Sequence[Sent] = ()
    processes: Sequence[Process] = ()
    spoiled: Collection[str] = ()
    """Jobs whose files were damaged by somebody: nothing can be said of their verdict."""
    canceled: Collection[str] = ()
    unreadable: Collection[str] = ()
    """Jobs whose folders can't say what they are: no store can be rebuilt with them."""
    database: str = "ok"
    """What ``PRAGMA integrity_check`` says."""
    answers: bool = True
    """Whether a supervisor that was started at the end answered."""
