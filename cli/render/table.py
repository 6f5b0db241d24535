"""Tables of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .lines import acts, age, colour_of
from .plain import one_line

_HEAD = ("JOB", "STATE", "AGE", "MODEL", "ACTS", "LAST")
_MODEL_WIDTH = 28
_MODEL_LEAST = 8
_LAST_LEAST = 16
LAST_WIDTH = 64
"""Characters of the last column in a pipe; a terminal gives what it has."""


def job_table(jobs: Sequence[Mapping[str, Any]], *, width: int | None = None, colour: bool = False) -> list[str]:
    """Return the lines of the status table: JOB STATE AGE MODEL ACTS LAST.

    ``width`` is the terminal's, whose lines are kept on one row each as long as that can be; None is a pipe, where
    nothing but the last column is cut.
    """
    rows = [_cells(job) for job in jobs]
    widths = _widths(rows)
    if width is not None and (lacking := sum(widths) + 2 * len(widths) + _LAST_LEAST + 1 - width) > 0:
        narrow = max(widths[3] - lacking, _MODEL_LEAST)
        rows = [(*row[:3], one_line(row[3], narrow), *row[4:]) for row in rows]
        widths = _widths(rows)
    left = LAST_WIDTH if width is None else max(width - sum(widths) - 2 * len(widths) - 1, 8)
    lines = []
    for index, row in enumerate((_HEAD, *rows)):
        cells = [cell.ljust(widths[column]) for column, cell in enumerate(row[:5])]
        if colour and index:
            paint = colour_of(str(jobs[index - 1].get("state")))
            cells[1] = f"\x1b[{paint}m{cells[1]}\x1b[0m" if paint else cells[1]
        lines.append("  ".join([*cells, one_line(row[5], left)]).rstrip())
    return lines


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(row[column]) for row in (_HEAD, *rows)) for column in range(5)]


def _cells(job: Mapping[str, Any]) -> tuple[str, ...]:
    model = job.get("model_observed") or job.get("model") or job.get("lane") or "?"
    label = f"[{job['label']}] " if job.get("label") else ""
    return (
        one_line(str(job.get("job_id", "?")), 40),
        one_line(str(job.get("state", "?")), 24),
        age(job.get("age_s")),
        one_line(str(model), _MODEL_WIDTH),
        acts(job),
        label + last_words(job),
    )


def last_words(job: Mapping[str, Any]) -> str:
    """Return what was last heard of a job: why it is as it is, where that is known, else its last marker."""
    marker = (job.get("progress") or {}).get("last_marker")
    if job.get("ended") is None and job.get("note"):  # why what is shown may not be the whole of it
        return str(job["note"])
    return str(job.get("reason") or marker or job.get("note") or "")


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as aligned lines; the first is the head."""
    count = max((len(row) for row in rows), default=0)
    widths = [max(len(row[column]) for row in rows if column < len(row)) for column in range(count)]
    return ["  ".join(cell.ljust(widths[column]) for column, cell in enumerate(row)).rstrip() for row in rows]
