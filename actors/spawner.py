"""Starting shims: a warm process that forks one per request.

The forking process is started with the first job and ends with us. Asking it costs a line in a pipe;
when it is gone or does not read, another one is started. A request that is lost on the way is harmless:
its claim stays free, the job's actor sees that and takes the claim itself before it asks again.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Protocol

from .base import log
from .gate import Passed

SHIM = Path(__file__).with_name("shim.py")


class SpawnError(Exception):
    """No shim can be started on this machine. ``str()`` is the sentence."""


class Spawning(Protocol):
    """Whoever starts shims: by a fork (``Spawner``), or each by itself (``PlainSpawner``)."""

    def spawn(self, folder: Path, attempt: int, permit: Passed) -> None:
        """Ask for the shim of one attempt. Raises SpawnError, and PermissionError for a permit that is another's."""

    def suspect(self, asked_at: float) -> None:
        """Hear that what was asked for at ``asked_at`` (monotonic seconds) did not come about."""

    def close(self) -> None:
        """Start no more. Shims live on."""


class Spawner:
    """Forks shims. Safe to use from any thread; never blocks on the pipe."""

    def __init__(self, fifo: Path) -> None:
        self._fifo = fifo
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0

    def spawn(self, folder: Path, attempt: int, permit: Passed) -> None:
        """Ask for the shim of one attempt, by the gate's permit for it.

        Raises SpawnError when no forking process can be had, PermissionError for a permit that is another's.
        """
        permit.demand(folder.name, attempt)
        line = json.dumps({"folder": os.fspath(folder), "attempt": attempt}).encode() + b"\n"
        with self._lock:
            for _ in range(2):
                process = self._ready()
                try:
                    assert process.stdin is not None  # noqa: S101  it was started with a pipe
                    if os.write(process.stdin.fileno(), line) == len(line):
                        return
                except (BrokenPipeError, BlockingIOError):
                    log.warning("the forking process %d is gone or does not read: replaced", process.pid)
                self._end()
            raise SpawnError("no process can be started for the job")

    def suspect(self, asked_at: float) -> None:
        """Replace the forking process: it was asked at ``asked_at`` (monotonic seconds) and did nothing.

        A later one is left alone. What waits in the old one's pipe is lost, which is harmless.
        """
        with self._lock:
            if self._process is not None and self._started_at <= asked_at:
                log.warning("the forking process %d does not fork: replaced", self._process.pid)
                self._process.kill()
                self._end()

    def close(self) -> None:
        """End the forking process. Shims live on."""
        with self._lock:
            self._end()

    def _ready(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._started_at = time.monotonic()
        isolation = ("-I", "-S") if sys.platform == "linux" else ("-I",)
        try:
            self._process = subprocess.Popen(
                (sys.executable, *isolation, os.fspath(SHIM), os.fspath(self._fifo)),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.defpath},
                start_new_session=True,
            )
        except OSError as error:
            raise SpawnError(f"no process can be started for the job: {error.strerror}") from None
        assert self._process.stdin is not None  # noqa: S101  it was started with a pipe
        os.set_blocking(self._process.stdin.fileno(), False)
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        try:
            process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
