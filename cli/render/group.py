"""Groups for people: a table of them, one in full, and the live display while one is waited for."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..output import is_terminal, say, terminal_width
from .lines import age, change_line, clock, colour_of
from .plain import one_line
from .table import columns, job_table

_LIVE = frozenset({"running", "launching", "stalled?", "exploring?", "no-progress-writes", "needs-answer"})


def counts(group: Mapping[str, Any]) -> str:
    """Return where a group's members are, in words: ``12 members: 3 running, 5 queued, 4 done``."""
    summary = group["summary"]
    parts = [f"{summary[word]} {word}" for word in ("running", "queued", "done", "blocked", "failed") if summary[word]]
    parts += [f"{summary['unverified']} of the done unverified"] if summary["unverified"] else []
    parts += [f"{summary['removed']} removed"] if summary["removed"] else []
    parts += [f"{len(group['refused'])} refused"] if group["refused"] else []
    return f"{summary['total']} member{'s' * (summary['total'] != 1)}: {', '.join(parts) or 'none'}"


def group_table(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of ``fanout list``."""
    rows = [("GROUP", "STATE", "AGE", "LABEL", "MEMBERS")]
    rows += [
        (
            str(one["group_id"]),
            str(one["state"]),
            age(one["age_s"]),
            one_line(str(one["label"] or "-"), 30),
            counts(one),
        )
        for one in groups
    ]
    return columns(rows)


def group_lines(group: Mapping[str, Any], *, width: int | None, colour: bool) -> list[str]:
    """Return a group in full."""
    lines = [f"{group['group_id']}  {group['state']}  {counts(group)}; at most {group['max']} at a time"]
    lines += job_table(group["jobs"], width=width, colour=colour) if group["jobs"] else []
    lines += [f"refused: {one['label']}: {one_line(str(one['message']), 300)}" for one in group["refused"]]
    return lines


class GroupDisplay:
    """What is seen of a group while it is waited for: a table drawn anew on a terminal, else a line at each change."""

    def __init__(self, *, quiet: bool) -> None:
        """Look once at what stderr is."""
        self._live = is_terminal(sys.stderr) and not quiet
        self._colour = not os.environ.get("NO_COLOR")
        self._quiet = quiet
        self._seen: dict[str, str] = {}
        self._drawn = 0
        self._drawn_at = 0.0
        self._began = time.monotonic()

    def show(self, group: Mapping[str, Any]) -> None:
        """Show the group as it is now."""
        if self._live:
            if time.monotonic() - self._drawn_at >= 0.5:
                self._draw(group)
        elif not self._quiet:
            for job in group["jobs"]:
                if self._seen.get(str(job["job_id"])) != job["state"] and job["state"] != "queued":
                    self._seen[str(job["job_id"])] = str(job["state"])
                    say(f"{one_line(str(job.get('label') or '-'), 40)}: {change_line(job)}")

    def clear(self) -> None:
        """Take the live table away."""
        if self._drawn:
            self._write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0

    def _draw(self, group: Mapping[str, Any]) -> None:
        self._drawn_at = time.monotonic()
        width = max(terminal_width(2) - 1, 20)
        most = max(_height() - 4, 1)
        live = [job for job in group["jobs"] if job["state"] in _LIVE]
        shown = (live + [job for job in group["jobs"] if job.get("ended") is not None][::-1])[:most]
        lines = [one_line(f"{clock(self._drawn_at - self._began)} · {counts(group)}", width)]
        lines += [self._row(job, width) for job in shown]
        self.clear()
        self._write("".join(f"{line}\x1b[K\n" for line in lines))
        self._drawn = len(lines)

    def _row(self, job: Mapping[str, Any], width: int) -> str:
        state = str(job["state"])
        label = one_line(str(job.get("label") or job["job_id"]), 30)
        marker = (job.get("progress") or {}).get("last_marker") or job.get("reason") or ""
        rest = one_line(f"{age(job.get('age_s')):>4}  {label:<30}  {marker}", max(width - 22, 8))
        paint = colour_of(state) if self._colour else None
        word = one_line(state, 20).ljust(20)
        return f"\x1b[{paint}m{word}\x1b[0m {rest}" if paint else f"{word} {rest}"

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            self._live = False  # the terminal is gone; the group is not


def _height() -> int:
    try:
        return os.get_terminal_size(2).lines or 24
    except OSError:
        return 24
