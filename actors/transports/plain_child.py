"""A delegate whose pipes are moved by threads, as where no pipe can be waited for (Windows). Standard library only."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import threading
from collections.abc import Callable

from .child import READ, started, when_ended
from .engine import Stage

AHEAD = 8
"""Pieces that are read before the loop has taken them: a flood waits in the pipe."""
DRAIN_S = 2.0
"""How long the end of its output is waited for once it has ended: a grandchild may keep the pipe."""
_Written = Callable[[], None] | None


class PlainChild:
    """As ``child.Child``. What its threads meet, they tell the loop; everything else is the loop's thread's."""

    def __init__(self, stage: Stage, heard: Callable[[bytes], None]) -> None:
        """``heard`` gets what it writes; at the end, an empty piece."""
        self._stage = stage
        self._heard = heard
        self._process: subprocess.Popen[bytes] | None = None
        self._room = threading.Semaphore(AHEAD)
        self._waiting: queue.SimpleQueue[tuple[bytes, _Written] | None] = queue.SimpleQueue()
        self._reading = False
        self._writing = False
        self._exit: tuple[int | None, int | None] | None = None

    @property
    def pid(self) -> int | None:
        """Its process, once started."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start it in a session of its own. Raises EngineError."""
        self._stage.loop.open_to_threads()
        process = self._process = started(self._stage)
        self._reading = self._writing = True
        for work in (self._read_all, self._write_all):
            threading.Thread(target=work, args=(process,), name=f"pipe:{process.pid}", daemon=True).start()
        when_ended(self._stage.loop, process, self._ended)

    def write(self, data: bytes, done: Callable[[], None] | None = None) -> None:
        """Write to its stdin, behind what waits."""
        if self._writing:
            self._waiting.put((data, done))

    def close_stdin(self) -> None:
        """Close its stdin: most programs take that for the end."""
        if self._writing:
            self._writing = False
            self._waiting.put(None)

    def _read_all(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101 - it was started with pipes
        data = b"-"
        while data:
            try:
                data = os.read(process.stdout.fileno(), READ)
            except OSError:
                data = b""
            self._room.acquire()
            self._stage.loop.tell(lambda data=data: self._take(data))  # type: ignore[misc]

    def _take(self, data: bytes) -> None:
        self._room.release()
        if not self._reading:
            return  # it was given up
        self._reading = bool(data)
        self._heard(data)
        if not data and self._exit is not None:
            self._stage.gone(*self._exit)

    def _write_all(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None  # noqa: S101 - as above
        broken = False
        while (item := self._waiting.get()) is not None:
            data, done = item
            try:
                while data and not broken:
                    data = data[os.write(process.stdin.fileno(), data) :]
            except OSError:
                broken = True  # nobody reads any more; its end is met where it is read
            if done is not None and not broken:
                self._stage.loop.tell(done)
        with contextlib.suppress(OSError):
            process.stdin.close()

    def _ended(self, code: int | None, signal: int | None) -> None:
        """Wait a little for the rest of its output, then tell."""
        self.close_stdin()
        self._exit = (code, signal)
        if self._reading:
            self._stage.loop.later(DRAIN_S, self._give_up)
        else:
            self._stage.gone(code, signal)

    def _give_up(self) -> None:
        if self._reading and self._exit is not None:
            self._reading = False
            self._heard(b"")
            self._stage.gone(*self._exit)
