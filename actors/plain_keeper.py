"""The keeper of a check where nothing can fork and no pipe can be waited for: ``plain_main.py keeper FOLDER``.

The promises and records are those of ``check_keeper.py``. A thread reads what the command prints; on Windows all that
it starts is in our job object and ends with us, and an exit code is all that is known of an end.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from typing import Any

from ..state.identity import boot_id, identify
from . import shim
from .check_keeper import CHUNK, DRAIN_S, LOOK_S, Keeper
from .descendants import Ender, ender
from .windows_argv import APART


class PlainKeeper(Keeper):
    """See the module."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder, shim)
        self._end_left: Ender = shim.end_leftovers
        self._reader: threading.Thread | None = None
        self._given_up = False

    def identity(self, pid: int) -> dict[str, object]:
        """Name a process as the supervisor does."""
        return {**(identify(pid) or {"pid": pid, "started": 0, "boot_id": boot_id()})}

    def prepare(self) -> None:
        """Have all that we start end with us."""
        super().prepare()
        self._end_left = ender(f"check-{os.getpid()}")

    def end_left(self, pid: int) -> list[int]:
        """End the command and what it left; return who would not go."""
        return self._end_left(pid)

    def start(self, spec: dict[str, Any]) -> subprocess.Popen[bytes]:
        """Start the command: words, or the one line that Windows takes. Raises OSError, ValueError."""
        return subprocess.Popen(
            spec["argv"],
            cwd=spec["cwd"],
            env=spec["env"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=int(spec["umask"]),
            bufsize=0,
            creationflags=APART,
        )

    def watch(self, process: subprocess.Popen[bytes], pipe: int, deadline: float) -> None:
        """Wait until the command has ended, its time is up, or somebody asks for its end."""
        self._reader = threading.Thread(target=self._read, args=(pipe,), name="output", daemon=True)
        self._reader.start()
        while not self.over(deadline):
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(LOOK_S)
                self.ended = (code, None) if code >= 0 else (None, -code)

    def _read(self, pipe: int) -> None:
        with contextlib.suppress(OSError):
            while (chunk := os.read(pipe, CHUNK)) and not self._given_up:
                self.output.add(chunk)

    def drain(self, pipe: int) -> None:  # noqa: ARG002 - the thread has it
        """Let what is left be read, but not for ever."""
        if self._reader is not None:
            self._reader.join(DRAIN_S)
        self._given_up = True
