"""What we started, and whatever that started, ended by us: the promise of a holder and of a check's keeper.

On POSIX the session and the descendants of what we started (``shim.end_leftovers``). Windows has neither: there we put
ourselves into a job object, in which everything is that we start, and which ends with us, however we are ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from . import job_objects, shim

Ender = Callable[[int], list[int]]
"""Ends what a process, whose pid is given, left behind; returns the pids that would not go. Blocks for seconds."""


def ender(name: str, kernel: Any = None) -> Ender:  # noqa: ANN401  ctypes knows no types
    """Return what ends all that we start from now on; ``name`` names us among those that run now."""
    kernel = kernel or job_objects.system()
    return shim.end_leftovers if kernel is None else OwnJobObject(kernel, name).end_left


class OwnJobObject:
    """The job object that we are in ourselves."""

    def __init__(self, kernel: Any, name: str, *, end: Callable[[int], None] | None = None) -> None:  # noqa: ANN401  as above
        """Get into it. Where the system refuses, what we start is known by its parents alone."""
        self._end = end or _end
        self._job: job_objects.JobObject | None = None
        with contextlib.suppress(OSError):
            job = job_objects.create(kernel, name)
            job.end_with_us(True, may_leave=True)  # a supervisor that a delegate starts outlives it
            job.add(os.getpid())
            self._job = job

    def left(self) -> list[int]:
        """Return the pids of all that we started and is there."""
        try:
            pids = self._job.pids() if self._job is not None else _descendants()
        except OSError:
            pids = _descendants()
        return [pid for pid in pids if pid != os.getpid()]

    def end_left(self, _delegate: int) -> list[int]:
        """Give them a moment to leave, then end each; return the pids that would not go."""
        self._until_gone(shim.LEFTOVER_GRACE_S)
        deadline = time.monotonic() + shim.TERM_GRACE_S
        while (left := self.left()) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(OSError):
                    self._end(pid)
            self._until_gone(shim.LEFTOVER_GRACE_S)
        return left

    def _until_gone(self, grace_s: float) -> None:
        deadline = time.monotonic() + grace_s
        while self.left() and time.monotonic() < deadline:
            time.sleep(0.02)


def _end(pid: int) -> None:
    os.kill(pid, signal.SIGTERM)  # there this ends it at once


def _descendants() -> list[int]:
    import psutil  # noqa: PLC0415  not needed on Linux

    with contextlib.suppress(psutil.Error):
        return [child.pid for child in psutil.Process().children(recursive=True)]
    return []
