"""A clock that tests move: messages come when ``advance`` passes their time, in order."""

import heapq
import itertools
import threading

from outsourcerer.state.job_machine import Now


class FakeClock:
    """The Clock protocol. Both clocks start at round numbers and move together, unless a test says otherwise."""

    def __init__(self, mono: float = 1000.0, wall: float = 1_800_000_000.0) -> None:
        self._lock = threading.Lock()
        self._now = Now(wall, mono)
        self._heap: list[tuple[float, int]] = []
        self._due: dict[int, tuple[object, object]] = {}
        self._tokens = itertools.count(1)

    def now(self) -> Now:
        with self._lock:
            return self._now

    def later(self, delay_s, to, message) -> int:
        with self._lock:
            token = next(self._tokens)
            self._due[token] = (to, message)
            heapq.heappush(self._heap, (self._now.mono + max(0.0, delay_s), token))
            return token

    def forget(self, token: int) -> None:
        with self._lock:
            self._due.pop(token, None)

    def waiting(self) -> list[object]:
        """Return the messages that have not come yet, soonest first."""
        with self._lock:
            return [self._due[token][1] for _, token in sorted(self._heap) if token in self._due]

    def set_wall(self, wall: float) -> None:
        """Set the wall clock, as a person or a time server does."""
        with self._lock:
            self._now = Now(wall, self._now.mono)

    def advance(self, seconds: float) -> int:
        """Let time pass; return how many messages were told."""
        with self._lock:
            until = self._now.mono + seconds
        told = 0
        while True:
            with self._lock:
                if not self._heap or self._heap[0][0] > until:
                    self._now = Now(self._now.wall + until - self._now.mono, until)
                    return told
                at, token = heapq.heappop(self._heap)
                entry = self._due.pop(token, None)
                if entry is not None and at > self._now.mono:
                    self._now = Now(self._now.wall + at - self._now.mono, at)
            if entry is not None:
                told += 1
                entry[0].tell(entry[1])  # type: ignore[attr-defined]
