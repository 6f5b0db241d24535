"""News of commits, for threads that follow: a number and a bell, no copies of facts.

Followers read the facts themselves from the store, from where they were; so a slow one holds nobody
up, misses nothing and repeats nothing.
"""

from __future__ import annotations

import threading


class Feed:
    """The newest committed sequence number."""

    def __init__(self, seq: int = 0) -> None:
        self._condition = threading.Condition()
        self._seq = seq
        self._closed = False
        self.trouble: str | None = None
        """Why what happened lately can't be recorded, in words, while that is so. Set by the journal alone."""

    def publish(self, seq: int) -> None:
        """Ring: facts up to ``seq`` can be read."""
        with self._condition:
            self._seq = max(self._seq, seq)
            self._condition.notify_all()

    def close(self) -> None:
        """Wake everyone for the last time."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    @property
    def closed(self) -> bool:
        """Whether the supervisor is going away."""
        return self._closed

    def wait(self, after: int, timeout_s: float | None) -> int:
        """Return the newest number, once it is over ``after``, the time is up, or the feed is closed."""
        with self._condition:
            self._condition.wait_for(lambda: self._seq > after or self._closed, timeout_s)
            return self._seq
