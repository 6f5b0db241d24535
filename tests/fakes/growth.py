"""Whether something grows: a line through samples, pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """What a figure may grow by, over a whole run."""

    name: str
    most: float
    """In the figure's own unit, from the first to the last sample of the fit."""
    unit: str = ""


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the least-squares slope of (x, y); 0 for fewer than two different x.

    >>> slope([(0, 1), (1, 3), (2, 5)])
    2.0
    """
    if len(points) < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def grown(points: Sequence[tuple[float, float]], *, skip: float = 0.25) -> float:
    """Return by how much the fitted line rises over the samples, without the first ``skip`` of them (warming up)."""
    fitted = points[int(len(points) * skip) :]
    return slope(fitted) * (fitted[-1][0] - fitted[0][0]) if fitted else 0.0


def too_much(samples: Sequence[tuple[float, dict[str, float]]], bounds: Sequence[Bound]) -> list[str]:
    """Return a sentence for each figure that grew beyond its bound. Samples are (time, name → figure)."""
    found = []
    for bound in bounds:
        points = [(at, figures[bound.name]) for at, figures in samples if bound.name in figures]
        rise = grown(points)
        if rise > bound.most:
            found.append(f"{bound.name} grew by {rise:.1f}{bound.unit} (bound {bound.most:g}{bound.unit})")
    return found
