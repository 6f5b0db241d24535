"""A program in a console, by wexpect. Never run on Windows yet: written to wexpect 4.0.0 and held by a fake of it.

wexpect reads blockingly, so a thread reads; it knows no signals, and a console's size is set when it is made.
"""

from __future__ import annotations

import contextlib
import importlib
import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from .engine import EngineError

_PIECE = 4096


class WindowsProcess:
    """See ``TerminalProcess``."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: str, size: tuple[int, int]) -> None:
        """Start it. Raises EngineError."""
        self._wexpect: Any = importlib.import_module("wexpect")
        self.size = size
        """What the console was asked to be; wexpect 4.0.0 has no way to say it."""
        self.descriptor: int | None = None
        self.terminal: str | None = None
        try:
            self._child = self._wexpect.spawn(argv[0], list(argv[1:]), timeout=None, cwd=cwd, env=dict(env))
        except (self._wexpect.ExceptionPexpect, OSError) as error:
            raise EngineError(f"{argv[0]}: {error}") from None
        self._child.delaybeforesend = 0
        self.pid = int(self._child.pid)
        self._read: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._held = b""
        self._closed = False
        threading.Thread(target=self._pump, name=f"console:{self.pid}", daemon=True).start()

    def _pump(self) -> None:
        """Read until the end. An empty piece says that it came."""
        with contextlib.suppress(self._wexpect.EOF, OSError, ValueError):
            while not self._child.flag_eof:
                if text := self._child.read_nonblocking(_PIECE):
                    self._read.put(text.encode("utf-8", "replace"))
        self._read.put(b"")

    def read_nonblocking(self, size: int) -> bytes | None:
        """See ``TerminalProcess``."""
        if not self._held and not self._closed:
            try:
                self._held = self._read.get_nowait()
            except queue.Empty:
                return None
            self._closed = not self._held
        piece, self._held = self._held[:size], self._held[size:]
        return piece

    def write(self, data: bytes) -> None:
        """See ``TerminalProcess``."""
        with contextlib.suppress(self._wexpect.EOF, OSError):
            self._child.send(data.decode("utf-8", "replace"))

    def resize(self, columns: int, rows: int) -> None:
        """Keep the wish: wexpect 4.0.0 can't change a console's size."""
        self.size = (columns, rows)

    def ended(self) -> tuple[int | None, int | None] | None:
        """See ``TerminalProcess``; there is never a signal."""
        # trust_console: the end of the output alone is no end of the program.
        if self._child.isalive(trust_console=False):
            return None
        status = self._child.exitstatus
        return (status if isinstance(status, int) else None), None

    def terminate(self) -> None:
        """See ``TerminalProcess``: there is no hanging up, so it is ended."""
        with contextlib.suppress(self._wexpect.ExceptionPexpect, OSError):
            self._child.terminate()
