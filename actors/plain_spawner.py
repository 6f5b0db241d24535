"""Starting shims where nothing can be forked: a process each, which costs an interpreter's start per job."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from .base import log
from .gate import Passed
from .spawner import Spawner, SpawnError, Spawning

MAIN = Path(__file__).with_name("plain_main.py")
LINE_CAP = 4096
KEPT = ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "COMSPEC")
"""Without these Windows starts next to nothing."""
FLAGS = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""A console of its own that nobody sees: a detached process would have none, and each child of it would open one."""
LEAVE_JOB = getattr(subprocess, "CREATE_BREAKAWAY_FROM_JOB", 0)
"""Out of the job object that a terminal may have put us in: it would end all of us with its window."""


def spawner_for(how: str | None, fifo: Path, heard: Callable[[bytes], None]) -> Spawning:
    """Return what starts shims here: ``fork``, ``plain``, or (None) fork where there is one.

    ``heard`` takes the hints that plain shims give; forked ones write them to ``fifo``.
    """
    plain = how == "plain" or not hasattr(os, "fork")
    return PlainSpawner(heard) if plain else Spawner(fifo)


class PlainSpawner:
    """Starts shims. Safe to use from any thread."""

    def __init__(self, heard: Callable[[bytes], None]) -> None:
        """Pass each line that a shim says on to ``heard``, from a thread of the shim's own."""
        self._heard = heard

    def spawn(self, folder: Path, attempt: int, permit: Passed) -> None:
        """Start the shim of one attempt, by the gate's permit for it.

        Raises SpawnError when no process can be had, PermissionError for a permit that is another's.
        """
        permit.demand(folder.name, attempt)
        isolation = ("-I", "-S") if sys.platform == "linux" else ("-I",)
        argv = (sys.executable, *isolation, os.fspath(MAIN), os.fspath(folder), str(attempt))
        try:
            process = _start(argv)
        except OSError as error:
            raise SpawnError(f"no process can be started for the job: {error.strerror}") from None
        threading.Thread(target=self._listen, args=(process,), name=f"shim:{process.pid}", daemon=True).start()

    def suspect(self, asked_at: float) -> None:
        """Nothing is shared between two shims: one that did nothing says nothing of the next."""

    def close(self) -> None:
        """Nothing is kept. Shims live on."""

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101  it was started with a pipe
        with process.stdout:
            try:
                while line := process.stdout.readline(LINE_CAP):
                    self._heard(line.rstrip(b"\r\n"))
            except OSError as error:
                log.warning("the shim %d can't be heard: %s", process.pid, error.strerror)
        process.wait()


def _start(argv: tuple[str, ...]) -> subprocess.Popen[bytes]:
    try:
        return _popen(argv, FLAGS | LEAVE_JOB)
    except PermissionError:
        if not LEAVE_JOB:
            raise
        return _popen(argv, FLAGS)  # that job object lets nobody out


def _popen(argv: tuple[str, ...], flags: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(sys.executable).anchor,
        env=environment(os.environ),
        start_new_session=True,
        creationflags=flags,
    )


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Return what a shim itself needs; its delegate's environment is in the launch."""
    return {"PATH": os.defpath, **{name: ours[name] for name in KEPT if name in ours}}
