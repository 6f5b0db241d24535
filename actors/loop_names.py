"""What the actors of loops are called, and what they are told."""

from __future__ import annotations

from dataclasses import dataclass

from ..messages.loop import LoopFact, LoopStep


def loop_actor(loop_id: str) -> str:
    """Return the name of a loop's actor."""
    return f"loop:{loop_id}"


@dataclass(frozen=True, slots=True)
class Decree:
    """Gateway → Loops: journal this of a loop, and see that it is looked after. Answered ``True`` once on disk."""

    fact: LoopFact


@dataclass(frozen=True, slots=True)
class LapOf:
    """Loop → Loops: this job is a step of that loop; its moves are to be told."""

    job_id: str
    loop_id: str


@dataclass(frozen=True, slots=True)
class LoopOver:
    """Loop → Loops: the loop's end is journalled."""

    loop_id: str


@dataclass(frozen=True, slots=True)
class Changed:
    """Loops → Loop: something of yours was journalled by another: read it."""


@dataclass(frozen=True, slots=True)
class Launched:
    """Work → Loop: the job of a step was taken; ``refused`` is the step's end where it was not."""

    number: int
    refused: LoopStep | None = None
    renamed: str | None = None
    """Its id was half used by a try that was killed: this one is to be taken instead."""
    again: bool = False
    """Nobody knows whether it was taken: ask once more."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Work → Loop: a step has ended, and this is all there is to know of it. None: it could not be seen."""

    step: LoopStep | None
    number: int = 0
    """Which step it is about."""


@dataclass(frozen=True, slots=True)
class GoesOn:
    """Work → Loop: a step has not ended yet, or (0) what was to be done beside them is done: look again."""

    number: int
