"""A delegate that is started but has not begun: held until its records are written, then let go.

On Windows it is made suspended, inside a job object that ends it if we are killed before it was let go. On POSIX
a shell waits for a word before it becomes the delegate. Neither needs a fork of ours.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from . import job_objects, shim
from .windows_argv import command_line

GATE = 'read -r go && exec "$@" <"$0"'
"""Becomes the delegate once a line is read; nothing when there is none to come. Its first word is the file of stdin."""
CREATE_SUSPENDED = 0x4
FLAGS = (
    CREATE_SUSPENDED | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
)
"""Suspended, out of reach of its starter's Ctrl-C, and on a console that nobody sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What is to be started."""

    job_id: str
    argv: list[str]
    env: dict[str, str]
    cwd: str
    umask: int
    stdin: str
    """The file that it reads."""
    out: int
    err: int
    """Descriptors that it writes to."""


class Suspended(Protocol):
    """One delegate, from its start to what it left behind."""

    @property
    def pid(self) -> int:
        """Its pid, the same before and after it begins."""

    def release(self) -> None:
        """Let it begin. Raises OSError where it can't."""

    def drop(self) -> None:
        """End it: it has not begun and never will."""

    def wait(self) -> tuple[int | None, int | None]:
        """Wait for its end; return its exit code, or the signal that ended it."""

    def left(self) -> list[int]:
        """Return the pids of what it left running."""

    def end_left(self) -> list[int]:
        """End that; return the pids that would not go."""


Starter = Callable[[Start], Suspended]


class SuspendedSession:
    """The delegate as a session of its own."""

    def __init__(self, start: Start) -> None:
        """Start the shell that becomes the delegate. Raises OSError, ValueError."""
        _demand_program(start)
        self._process = subprocess.Popen(
            ("/bin/sh", "-c", GATE, start.stdin, *start.argv),
            stdin=subprocess.PIPE,
            stdout=start.out,
            stderr=start.err,
            cwd=start.cwd,
            env=start.env,
            umask=start.umask,
            start_new_session=True,
        )
        self.pid = self._process.pid

    def release(self) -> None:
        """Say the word."""
        assert self._process.stdin is not None  # noqa: S101  it was started with a pipe
        with contextlib.suppress(BrokenPipeError):  # it was killed at the gate: its status says so
            self._process.stdin.write(b"go\n")
            self._process.stdin.close()

    def drop(self) -> None:
        """Never say it."""
        assert self._process.stdin is not None  # noqa: S101  as above
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()

    def wait(self) -> tuple[int | None, int | None]:
        """Wait for it alone."""
        code = self._process.wait()
        return (None, -code) if code < 0 else (code, None)

    def left(self) -> list[int]:
        """Its session, and our own descendants, who are whatever it left."""
        return shim.any_left(self.pid)

    def end_left(self) -> list[int]:
        """End them as every shim does."""
        return shim.end_leftovers(self.pid)


class SuspendedJob:
    """The delegate in a job object."""

    def __init__(
        self,
        start: Start,
        *,
        kernel: Any,  # noqa: ANN401  ctypes knows no types
        resume: Callable[[int], None],
        popen: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen,
    ) -> None:
        """Start it suspended. Raises OSError, ValueError."""
        line = command_line(start.argv, comspec=start.env.get("COMSPEC") or os.environ.get("COMSPEC", "cmd.exe"))
        self._resume = resume
        self._job = job_objects.create(kernel, start.job_id)
        self._job.end_with_us(True, may_leave=True)
        with Path(start.stdin).open("rb") as stdin:
            self._process = popen(
                line, stdin=stdin, stdout=start.out, stderr=start.err, cwd=start.cwd, env=start.env, creationflags=FLAGS
            )
        self.pid = self._process.pid
        try:
            self._job.add(self.pid)
        except OSError:
            self.drop()
            raise

    def release(self) -> None:
        """Let it outlive us, and begin."""
        self._job.end_with_us(False, may_leave=True)  # a supervisor that it starts outlives it
        self._resume(self.pid)

    def drop(self) -> None:
        """End it where it stands."""
        self._process.kill()
        self._process.wait()

    def wait(self) -> tuple[int | None, int | None]:
        """Wait for it alone. There are no signals: who is ended from outside has an exit code like any other."""
        return self._process.wait(), None

    def left(self) -> list[int]:
        """Who is still in the job object."""
        with contextlib.suppress(OSError):
            return [pid for pid in self._job.pids() if pid != self.pid]
        return []

    def end_left(self) -> list[int]:
        """Give it a moment to leave, then end the job object."""
        self._until_gone(shim.LEFTOVER_GRACE_S)
        if self.left():
            with contextlib.suppress(OSError):
                self._job.end()
            self._until_gone(shim.TERM_GRACE_S)
        return self.left()

    def _until_gone(self, grace_s: float) -> None:
        deadline = time.monotonic() + grace_s
        while self.left() and time.monotonic() < deadline:
            time.sleep(0.02)


def starter() -> Starter:
    """Return how delegates are started on this system."""
    kernel = job_objects.system()
    if kernel is None:
        return SuspendedSession
    return lambda start: SuspendedJob(start, kernel=kernel, resume=job_objects.resume)


def _demand_program(start: Start) -> None:
    """Raise OSError where a shell would only say in the delegate's own log that it can't be started."""
    program = start.argv[0]
    if stat.S_ISDIR(Path(program).stat().st_mode) or not os.access(program, os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), program)
