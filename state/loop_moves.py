"""What a loop can do next, and the words for what its steps came to: shared by the rules of every shape."""

from __future__ import annotations

from dataclasses import dataclass

from ..messages.loop import LoopEnd, LoopStep, Role

DONE = frozenset({"done", "done?"})
BLOCKED = frozenset({"blocked", "permission-blocked"})
PASSED, NOT_RUN, CANCELED, REFUSED = "passed", "not_run", "canceled", "refused"
INTERRUPTED = "interrupted"
TRIES = 2
"""So many in a row that came to nothing (a job that failed, a judge without a word) are the end."""
AGAIN = "osrc loop resume {loop}"


@dataclass(frozen=True, slots=True)
class Act:
    """Ask for a job."""

    role: Role
    lap: int
    who: int = 0
    round: int = 0


@dataclass(frozen=True, slots=True)
class Grade:
    """Run the check on what a lap left; lap 0 is before anything was done."""

    lap: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Steps that were begun have not ended. ``stop``: their end was asked for."""

    steps: tuple[LoopStep, ...] = ()
    stop: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """It is over."""

    end: LoopEnd
    reason: str
    hint: str | None = None


Next = Act | Grade | End | Wait

TOGETHER = frozenset({Role.DEBATE, Role.ANSWER})
"""Roles of which several are at work at the same time, where each says its own and changes nothing."""
