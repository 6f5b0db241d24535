"""What a model's own past says: how often its work passed, in this repository and for this kind of task.

    rate = (0.7 x 8 + weighted passes) / (8 + weighted outcomes)

Weights halve every 60 days and end after 90. Few outcomes change little, so that one failure is no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

PRIOR = 0.70
PRIOR_WEIGHT = 8.0
HALF_LIFE_S = 60 * 86400.0
WINDOW_S = 90 * 86400.0
LEAST_COUNT = 3
LEAST_WEIGHT = 2.5
LOW, HIGH = 0.80, 1.20
_SLOPE = (HIGH - 1.0) / (1.0 - PRIOR)

Verdict = Literal["passed", "failed", "reverted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one job's result."""

    verdict: Verdict
    model: str
    """The model's key; empty: a lane's own default, which is not one model."""
    kind: str | None
    project: str | None
    at: float
    """Epoch seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What that means for a model's score."""

    multiplier: float = 1.0
    rate: float | None = None
    """The expected rate of passing, the prior included; None without any outcome."""
    samples: float = 0.0
    """Outcomes by their weight."""
    scope: Literal["repository", "everywhere", "none"] = "none"


def past(outcomes: Iterable[Outcome], model: str, kind: str, project: str | None, now: float) -> Past:
    """Return what the outcomes say of a model: those of this repository if they are enough, else all."""
    if not model:
        return Past()
    mine = [
        one for one in outcomes if one.model == model and one.kind == kind and -WINDOW_S <= one.at - now <= HALF_LIFE_S
    ]
    here = [one for one in mine if project is not None and one.project == project]
    if len(here) >= LEAST_COUNT and sum(_weight(one, now) for one in here) >= LEAST_WEIGHT:
        return _judged(here, now, "repository")
    return _judged(mine, now, "everywhere") if mine else Past()


def _weight(outcome: Outcome, now: float) -> float:
    """Return how much an outcome counts; one from a clock that was ahead counts as new."""
    return float(0.5 ** (max(0.0, now - outcome.at) / HALF_LIFE_S))


def _judged(outcomes: Sequence[Outcome], now: float, scope: Literal["repository", "everywhere"]) -> Past:
    weight = sum(_weight(one, now) for one in outcomes)
    passed = sum(_weight(one, now) for one in outcomes if one.verdict == "passed")
    rate = (PRIOR * PRIOR_WEIGHT + passed) / (PRIOR_WEIGHT + weight)
    multiplier = min(HIGH, max(LOW, 1.0 + (rate - PRIOR) * _SLOPE))
    return Past(multiplier=multiplier, rate=rate, samples=weight, scope=scope)
