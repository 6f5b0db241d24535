"""A process of ours that nobody forked (a shim, a holder, a check's keeper). Costs an interpreter's start."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from .base import log

LINE_CAP = 4096
MAIN = Path(__file__).with_name("plain_main.py")
KEPT = ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "COMSPEC")
"""Without these Windows starts next to nothing."""
FLAGS = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""A console of its own that nobody sees: a detached process would have none, and each child of it would open one."""
LEAVE_JOB = getattr(subprocess, "CREATE_BREAKAWAY_FROM_JOB", 0)
"""Out of the job object that a terminal may have put us in: it would end all of us with its window."""


def begin(*words: str, stdout: int = subprocess.DEVNULL, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start ``plain_main.py`` with these words, in a session of its own. Raises OSError."""
    isolation = ("-I", "-S") if sys.platform == "linux" else ("-I",)
    argv = (sys.executable, *isolation, os.fspath(MAIN), *words)
    try:
        return _popen(argv, FLAGS | LEAVE_JOB, stdout, stderr)
    except PermissionError:
        if not LEAVE_JOB:
            raise
        return _popen(argv, FLAGS, stdout, stderr)  # that job object lets nobody out


def _popen(argv: tuple[str, ...], flags: int, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        cwd=Path(sys.executable).anchor,
        env=environment(os.environ),
        start_new_session=True,
        creationflags=flags,
    )


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Return what such a process itself needs; what it starts has an environment of its own."""
    return {"PATH": os.defpath, **{name: ours[name] for name in KEPT if name in ours}}


def listen(process: subprocess.Popen[bytes], heard: Callable[[bytes], None], last: bytes = b"") -> None:
    """Pass each line that a process of ours says on to ``heard``, from a thread of its own; then wait for it.

    ``last`` is passed on once it has ended.
    """

    def work() -> None:
        assert process.stdout is not None  # noqa: S101  it was started with a pipe
        with process.stdout:
            try:
                while line := process.stdout.readline(LINE_CAP):
                    heard(line.rstrip(b"\r\n"))
            except OSError as error:
                log.warning("process %d can't be heard: %s", process.pid, error.strerror)
        process.wait()
        if last:
            heard(last)

    threading.Thread(target=work, name=f"plain:{process.pid}", daemon=True).start()
