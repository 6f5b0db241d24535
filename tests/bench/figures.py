"""One figure of a benchmark: a line for whoever runs it alone, a row for the report of all."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

KEPT_IN = "OSRC_BENCH_FIGURES"
"""Names a file to which each figure is added as a line of JSON."""


@dataclass(frozen=True)
class Figure:
    """What was measured, in which unit, what bounds it, and what was measured beside it in the same run."""

    what: str
    value: float
    unit: str
    most: float | None = None
    least: float | None = None
    beside: str = ""

    @property
    def holds(self) -> bool:
        """Whether it is within its bounds; true where there are none."""
        over = self.most is not None and self.value > self.most
        return not over and not (self.least is not None and self.value < self.least)

    @property
    def bound(self) -> str:
        """The bound in words, or nothing."""
        words = [f"at most {number(self.most)}"] if self.most is not None else []
        words += [f"at least {number(self.least)}"] if self.least is not None else []
        return f"{' and '.join(words)} {self.unit}" if words else ""


def number(value: float) -> str:
    """Write a figure with the digits that say something."""
    if round(value, 2) == 0:
        return "0"  # not -0 either: a clock's last digit
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    words = f"{value:,.{digits}f}"
    return words.rstrip("0").rstrip(".") if digits else words


def line(figure: Figure) -> str:
    """Write a figure for a reader."""
    words = f"{figure.what:<44} {number(figure.value):>8} {figure.unit}"
    if figure.beside:
        words += f"; {figure.beside}"
    if figure.bound:
        words += f" ({figure.bound}{'' if figure.holds else ': SHORT'})"
    return words


def show(
    what: str,
    value: float,
    unit: str,
    *,
    most: float | None = None,
    least: float | None = None,
    beside: str = "",
) -> bool:
    """Print a figure and keep it for the report, if one is being made; return whether it is within its bounds."""
    figure = Figure(what, value, unit, most=most, least=least, beside=beside)
    print(line(figure), flush=True)
    if kept := os.environ.get(KEPT_IN):
        with Path(kept).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(figure)) + "\n")
    return figure.holds


def table(figures: Sequence[Figure]) -> str:
    """Write figures as a table in Markdown, the short ones marked."""
    rows = ["| what | measured | bound | beside it, in the same run |", "| --- | --- | --- | --- |"]
    for figure in figures:
        bound = figure.bound if figure.holds else f"**{figure.bound}: short**"
        rows.append(f"| {figure.what} | {number(figure.value)} {figure.unit} | {bound} | {figure.beside} |")
    return "\n".join(rows)
