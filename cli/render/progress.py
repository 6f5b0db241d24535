"""Live progress on stderr: one line redrawn on a terminal, a plain line at each change elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..output import is_terminal, say, terminal_width
from .lines import acts, change_line, clock
from .plain import one_line

_CLEAR = "\r\x1b[K"


class Display:
    """What a person sees of jobs while a command waits for them.

    On a terminal: elapsed time, state, tally, last marker, on one line. Elsewhere: a line when a state,
    its reason or a marker changes. ``quiet`` shows nothing at all.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        """Look once at what stderr is."""
        self._live = is_terminal(sys.stderr) and not quiet
        self._quiet = quiet
        self._drawn = False
        self._began = time.monotonic()
        self._seen: dict[str, object] = {}
        self._hops: dict[str, int] = {}

    @property
    def every_s(self) -> float | None:
        """How often a new frame is wanted; None where only changes are shown."""
        return 1.0 if self._live else None

    def show(self, jobs: Sequence[Mapping[str, Any]]) -> None:
        """Show the jobs as they are now."""
        if not self._quiet:
            self._tell_moves(jobs)
        if self._live:
            self._draw(jobs)
        elif not self._quiet:
            for job in jobs:
                if self._changed(job):
                    say(change_line(job))

    def _tell_moves(self, jobs: Sequence[Mapping[str, Any]]) -> None:
        """Say once of every attempt that is over why there is another: work is never moved in silence."""
        for job in jobs:
            hops, identifier = job.get("hops") or [], str(job.get("job_id"))
            for over in hops[self._hops.get(identifier, 0) :]:
                word = "again" if over.get("outcome") == "contended" else "moved"
                self.line(f">>> [{word}] {one_line(str(over.get('why')), 300)}")
            self._hops[identifier] = len(hops)

    def line(self, text: str) -> None:
        """Write a line of its own, above the live one."""
        self.clear()
        say(text)

    def clear(self) -> None:
        """Take the live line away."""
        if self._drawn:
            self._write(_CLEAR)
            self._drawn = False

    def _changed(self, job: Mapping[str, Any]) -> bool:
        key = (job.get("state"), job.get("reason"), (job.get("progress") or {}).get("last_marker"))
        identifier = str(job.get("job_id"))
        if self._seen.get(identifier) == key:
            return False
        self._seen[identifier] = key
        return True

    def _draw(self, jobs: Sequence[Mapping[str, Any]]) -> None:
        elapsed = clock(time.monotonic() - self._began)
        text = live_line(jobs, elapsed)
        self._write(_CLEAR + one_line(text, max(terminal_width(2) - 1, 10)))
        self._drawn = True

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            self._live = False  # the terminal is gone; the job is not


def live_line(jobs: Sequence[Mapping[str, Any]], elapsed: str) -> str:
    """Return the text of the live line: one job in full, several as a count and the one heard last."""
    if not jobs:
        return elapsed
    job = next((one for one in jobs if one.get("ended") is None), jobs[-1])
    age = job.get("age_s")
    if len(jobs) == 1 and isinstance(age, int | float) and age >= 0:
        elapsed = clock(age)
    marker = (job.get("progress") or {}).get("last_marker")
    percent = (job.get("progress") or {}).get("percent")
    parts = [elapsed, str(job.get("state")), acts(job)]
    if isinstance(percent, int) and not isinstance(percent, bool):
        parts.append(f"{percent}%")
    if heard := job.get("reason") or marker:
        parts.append(str(heard))
    line = " · ".join(parts)
    if len(jobs) == 1:
        return line
    ended = sum(one.get("ended") is not None for one in jobs)
    return f"{ended}/{len(jobs)} ended · {line}"
