"""One thread's events: descriptors that can be read or written, timers, and what other threads tell it.

Standard library only. Where only sockets can be waited for (Windows), pipes are read by threads that ``tell``.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import selectors
import socket
import sys
import time
from collections import deque
from collections.abc import Callable

LONGEST_WAIT_S = 60.0
Sink = int | socket.socket
"""What is written to. A socket is one descriptor like any other but for Windows, where only it can send."""


class SelectLoop:
    """The ``Loop`` of ``transports/engine.py`` over a selector."""

    def __init__(self) -> None:
        """Watch nothing yet."""
        self._selector = selectors.DefaultSelector()
        self._readers: dict[int, Callable[[], None]] = {}
        self._outgoing: dict[int, deque[tuple[memoryview, Callable[[], None] | None]]] = {}
        self._sockets: dict[int, socket.socket] = {}
        """Of those that are written to, the ones that are sockets."""
        self._told: deque[Callable[[], None]] = deque()
        self._wake: socket.socket | None = None
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._forgotten: set[int] = set()
        self._tokens = itertools.count(1)
        self.stopped = False
        if sys.platform == "win32":
            self.open_to_threads()  # its select refuses to wait for nothing at all

    def now(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic()

    def watch(self, descriptor: int, ready: Callable[[], None]) -> None:
        """Call ``ready`` whenever the descriptor can be read."""
        self._readers[descriptor] = ready
        self._update(descriptor)

    def unwatch(self, descriptor: int) -> None:
        """Forget a descriptor and what was to be written to it."""
        self._readers.pop(descriptor, None)
        self._outgoing.pop(descriptor, None)
        self._sockets.pop(descriptor, None)
        self._update(descriptor)

    def write(self, sink: Sink, data: bytes, done: Callable[[], None] | None = None) -> None:
        """Write ``data`` behind what waits; then call ``done``. An end that is closed drops both."""
        descriptor = sink if isinstance(sink, int) else sink.fileno()
        if not isinstance(sink, int):
            self._sockets[descriptor] = sink
        queue = self._outgoing.setdefault(descriptor, deque())
        queue.append((memoryview(data), done))
        if len(queue) == 1:
            self._drain(descriptor)
        self._update(descriptor)

    def later(self, seconds: float, work: Callable[[], None]) -> int:
        """Call ``work`` once, after so many seconds."""
        token = next(self._tokens)
        heapq.heappush(self._timers, (self.now() + seconds, token, work))
        return token

    def forget(self, token: int) -> None:
        """Cancel a timer."""
        if any(token == known for _, known, _ in self._timers):
            self._forgotten.add(token)

    def tell(self, work: Callable[[], None]) -> None:
        """Have ``work`` called in the loop's thread, soon. The only thing that another thread may ask of it."""
        assert self._wake is not None  # noqa: S101 - whoever starts a thread opens the loop to it first
        self._told.append(work)
        with contextlib.suppress(OSError):  # it is full of wakes: it wakes
            self._wake.send(b"w")

    def open_to_threads(self) -> None:
        """Have what other threads ``tell`` wake the loop, from now on. For the loop's own thread to call."""
        if self._wake is not None:
            return
        heard, self._wake = socket.socketpair()
        for end in (heard, self._wake):
            end.setblocking(False)

        def woken() -> None:
            with contextlib.suppress(OSError):
                heard.recv(4096)

        self.watch(heard.fileno(), woken)

    def run(self) -> None:
        """Serve until ``stopped`` is set."""
        while not self.stopped:
            wait_s = min(LONGEST_WAIT_S, max(0.0, self._timers[0][0] - self.now())) if self._timers else LONGEST_WAIT_S
            for key, mask in self._selector.select(wait_s):
                self._serve(key.fd, mask)
            self._heed()
            self._fire()

    def _heed(self) -> None:
        for _ in range(len(self._told)):  # what comes meanwhile wakes again
            if not self.stopped:
                self._told.popleft()()

    def _serve(self, descriptor: int, mask: int) -> None:
        if mask & selectors.EVENT_WRITE and descriptor in self._outgoing:
            self._drain(descriptor)
            self._update(descriptor)
        ready = self._readers.get(descriptor) if mask & selectors.EVENT_READ else None
        if ready is not None and not self.stopped:
            ready()

    def _fire(self) -> None:
        while self._timers and self._timers[0][0] <= self.now() and not self.stopped:
            _, token, work = heapq.heappop(self._timers)
            if token in self._forgotten:
                self._forgotten.discard(token)
            else:
                work()

    def _drain(self, descriptor: int) -> None:
        queue = self._outgoing[descriptor]
        while queue:
            data, done = queue[0]
            try:
                end = self._sockets.get(descriptor)
                taken = os.write(descriptor, data) if end is None else end.send(data)
            except BlockingIOError:
                return
            except OSError:
                queue.clear()  # nobody reads any more; its end is met where it is read
                return
            if taken < len(data):
                queue[0] = (data[taken:], done)
                continue
            queue.popleft()
            if done is not None:
                done()

    def _update(self, descriptor: int) -> None:
        wanted = selectors.EVENT_READ if descriptor in self._readers else 0
        if self._outgoing.get(descriptor):
            wanted |= selectors.EVENT_WRITE
        else:
            self._outgoing.pop(descriptor, None)
        known = self._selector.get_map().get(descriptor)
        with contextlib.suppress(KeyError, ValueError, OSError):
            if known is None and wanted:
                self._selector.register(descriptor, wanted)
            elif known is not None and not wanted:
                self._selector.unregister(descriptor)
            elif known is not None and known.events != wanted:
                self._selector.modify(descriptor, wanted)
