"""A program in a console, by wexpect. Never run on Windows: written to wexpect's source, held by a fake of it.

What that source says (4.0.0), and what follows:

* It starts a reader, ``python -m wexpect``, in a console of its own, and that starts the program and leaves with its
  exit code: ``child_pid`` is the reader's, and so is ours; the program is below it.
* The ``env`` that it takes is not passed on: the reader, and so the program, gets the environment of this process,
  which is therefore the program's from then on. A holder holds one session.
* Starting waits without end for the reader, and reading blocks: threads do both.
* A console has 80 columns and 25 rows, whatever is wished for, and is read as text up to its cursor: no colours, and an
  interface that redraws itself is seen only as far as it writes on.
* Words are put between quotation marks, and a ``"`` in one is left as it is: such words are refused.
"""

from __future__ import annotations

import codecs
import contextlib
import importlib
import os
import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ..windows_argv import is_batch
from .engine import EngineError

START_S = 60.0
SIZE = (80, 25)
STILL_ACTIVE = 259
"""What Windows says instead of an exit code while there is none."""
_PIECE = 4096
_MEANT = frozenset('"\r\n\0')
"""Characters that no word can hold."""
_MEANT_BY_BATCH = frozenset("%^&|<>!")
"""Nor one for a ``.cmd`` file, which the command processor reads first."""


class WindowsProcess:
    """See ``TerminalProcess``."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: str, size: tuple[int, int]) -> None:
        """Start it. Raises EngineError."""
        try:
            self._wexpect: Any = importlib.import_module("wexpect")
        except ImportError as error:
            raise EngineError(f"wexpect can't be used, which consoles are reached by: {error}") from None
        demand_sayable(argv)
        self.fixed: tuple[int, int] | None = SIZE
        self.descriptor: int | None = None
        self.terminal: str | None = None
        self._child: Any = None
        self._failed: str | None = None
        self._started = threading.Event()
        self._read: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._held = b""
        self._closed = False
        self._typed = codecs.getincrementaldecoder("utf-8")("replace")
        os.environ.clear()
        os.environ.update(env)
        threading.Thread(target=self._be_read, args=(list(argv), cwd, size), name="console", daemon=True).start()
        if not self._started.wait(START_S):
            raise EngineError(f"{argv[0]}: no console was had within {START_S:.0f} s")
        if self._failed is not None:
            raise EngineError(f"{argv[0]}: {self._failed}")
        started: Any = self._child
        self.pid = int(started.child_pid)

    def _be_read(self, argv: list[str], cwd: str, size: tuple[int, int]) -> None:
        """Start it, and read until the end. An empty piece says that it came."""
        try:
            child = self._wexpect.spawn(argv[0], argv[1:], timeout=None, cwd=cwd, safe_exit=False)
            child.delaybeforesend = 0
        except Exception as error:  # noqa: BLE001 - pywin32 raises what is no OSError
            self._failed = str(error) or type(error).__name__
            self._started.set()
            return
        self._child = child
        self.resize(*size)
        self._started.set()
        with contextlib.suppress(Exception):  # as above; and EOF
            while not child.flag_eof:
                if text := child.read_nonblocking(_PIECE):
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
        with contextlib.suppress(Exception):  # as above: it has gone, which is met where it is read
            if text := self._typed.decode(data):
                self._child.send(text)

    def resize(self, columns: int, rows: int) -> None:
        """Change a console's size, where this wexpect can (4.0.0 can not)."""
        if hasattr(self._child, "setwinsize"):
            with contextlib.suppress(Exception):  # as above
                self._child.setwinsize(rows, columns)
                self.fixed = None

    def ended(self) -> tuple[int | None, int | None] | None:
        """See ``TerminalProcess``; there is never a signal."""
        with contextlib.suppress(Exception):  # as above
            # trust_console: the end of the output alone is no end of the program.
            if self._child.isalive(trust_console=False):
                return None
        status = self._child.exitstatus
        return (status if isinstance(status, int) and status != STILL_ACTIVE else None), None

    def terminate(self) -> None:
        """See ``TerminalProcess``: there is no hanging up, so it is ended."""
        with contextlib.suppress(Exception):  # as above
            self._child.terminate()


def demand_sayable(argv: Sequence[str]) -> None:
    """Raise EngineError for words that wexpect would not give unchanged."""
    batch = is_batch(argv[0])
    for word in argv:
        wrong = _MEANT.intersection(word) or (batch and _MEANT_BY_BATCH.intersection(word))
        if wrong or not word or word.endswith("\\"):
            raise EngineError(f"{argv[0]}: the word {word[:80]!r} can't be said to a program in a console")
