"""Time as an argument: both clocks, and messages that come later.

``SystemClock`` is a service of one sleeping thread, started before the tree and shared by all of it;
with nothing due it uses no processor at all. ``tests/fakes/clock.py`` has one that tests move.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from typing import Protocol

from ..state.job_machine import Now
from .base import Handle

SLACK = 64
"""Forgotten timers that may wait for their time beside the others."""


class Clock(Protocol):
    """What actors may know of time."""

    def now(self) -> Now:
        """Both clocks, in seconds."""
        ...

    def later(self, delay_s: float, to: Handle, message: object) -> int:
        """Tell ``message`` to ``to`` after ``delay_s``; return a token for ``forget``."""
        ...

    def forget(self, token: int) -> None:
        """Drop a message that has not come yet. Unknown tokens are ignored."""
        ...


class SystemClock:
    """The machine's clocks."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._heap: list[tuple[float, int]] = []
        self._due: dict[int, tuple[Handle, object]] = {}
        self._tokens = itertools.count(1)
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="clock", daemon=True)
        self._thread.start()

    def now(self) -> Now:
        """Both clocks, in seconds."""
        return Now(time.time(), time.monotonic())

    def later(self, delay_s: float, to: Handle, message: object) -> int:
        """Tell ``message`` to ``to`` after ``delay_s`` seconds."""
        with self._condition:
            token = next(self._tokens)
            self._due[token] = (to, message)
            heapq.heappush(self._heap, (time.monotonic() + max(0.0, delay_s), token))
            if self._heap[0][1] == token:
                self._condition.notify()
            return token

    def forget(self, token: int) -> None:
        """Drop a message that has not come yet."""
        with self._condition:
            self._due.pop(token, None)
            if len(self._heap) > 2 * len(self._due) + SLACK:  # forgotten ones behind a far one would pile up
                self._heap = [entry for entry in self._heap if entry[1] in self._due]
                heapq.heapify(self._heap)

    def close(self) -> None:
        """End the thread; nothing more is told."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while True:
            with self._condition:
                while self._heap and self._heap[0][1] not in self._due:
                    heapq.heappop(self._heap)
                if self._closed:
                    return
                if not self._heap:
                    self._condition.wait()
                    continue
                wait_s = self._heap[0][0] - time.monotonic()
                if wait_s > 0:
                    self._condition.wait(wait_s)
                    continue
                _, token = heapq.heappop(self._heap)
                entry = self._due.pop(token, None)
            if entry is not None:
                entry[0].tell(entry[1])
