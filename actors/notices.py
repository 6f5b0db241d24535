"""Hints from shims, and of cancels: a named pipe in the state home.

So also the shims of an earlier supervisor are heard.

A hint only says where to look; whoever is told reads the record on disk. Anything that is no hint is
ignored: any process of this user can write here.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ..messages.internal import CancelNoticed, ShimNoticed
from ..messages.job import JOB_ID
from ..state.flags import CLOEXEC, NOFOLLOW, NONBLOCK
from ..state.home import Home
from .base import Directory, log
from .session_names import SessionNoticed, session_actor

LINE_CAP = 4096
_CANCELS = ("cancel", "cancel-at-once")


def job_actor(job_id: str) -> str:
    """Return the name of a job's actor."""
    return f"job:{job_id}"


def notices_path(home: Home, attached_pid: int | None) -> Path:
    """Return the pipe of a command that supervises by itself, or the supervisor's (None)."""
    return home.root / ("notices" if attached_pid is None else f"notices.{attached_pid}")


def pass_on_cancel(home: Home, job_id: str, *, at_once: bool) -> bool:
    """Hint to the trees of other processes that a cancel was journalled; whose job it is heeds it.

    Returns whether anybody reads at all. Pipes that killed commands left are removed on the way.
    """
    line = json.dumps({"job": job_id, "what": _CANCELS[at_once]}) + "\n"
    told = False
    for path in home.root.glob(f"{notices_path(home, None).name}*"):
        try:
            descriptor = os.open(path, os.O_WRONLY | NONBLOCK | NOFOLLOW | CLOEXEC)
        except OSError as error:
            if error.errno == errno.ENXIO and path != notices_path(home, None):
                path.unlink(missing_ok=True)
            continue
        with contextlib.suppress(OSError):
            told = (stat.S_ISFIFO(os.fstat(descriptor).st_mode) and os.write(descriptor, line.encode()) > 0) or told
        os.close(descriptor)
    return told


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """Notices → Jobs: a shim wrote the exit of a job that has no actor, perhaps because it was given up for lost."""

    job_id: str


class Notices:
    """Reads the pipe in a thread and tells the jobs' actors."""

    def __init__(self, path: Path, directory: Directory) -> None:
        """Create or reuse the pipe. Raises OSError where there are none (then ticks alone must do)."""
        self._directory = directory
        self._path = path
        try:
            if not stat.S_ISFIFO(os.lstat(path).st_mode):
                path.unlink()
                os.mkfifo(path, 0o600)
        except FileNotFoundError:
            os.mkfifo(path, 0o600)
        # open for writing too: else the pipe is at its end whenever no shim has it open
        self._descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="notices", daemon=True)
        self._thread.start()

    def close(self, *, remove: bool = False) -> None:
        """End the thread; ``remove`` the pipe too when no later supervisor is to listen at it."""
        self._closed = True
        with contextlib.suppress(OSError):
            os.write(self._descriptor, b"\n")
        self._thread.join(timeout=1.0)
        os.close(self._descriptor)
        if remove:
            self._path.unlink(missing_ok=True)

    def _run(self) -> None:
        held = b""
        while not self._closed:
            try:
                held += os.read(self._descriptor, 65536)
            except OSError as error:
                log.error("notices can't be read: %s", error.strerror)
                return
            *lines, held = held.split(b"\n")
            held = held[-LINE_CAP:]
            for line in lines:
                pass_on(self._directory, line)


def pass_on(directory: Directory, line: bytes) -> None:
    """Pass one hint on to whom it is for; what is no hint is ignored."""
    if not 0 < len(line) <= LINE_CAP:
        return
    try:
        hint = json.loads(line)
        if isinstance(session := hint.get("session"), str) and JOB_ID.match(session):
            directory.tell(session_actor(session), SessionNoticed())
            return
        job, what = hint["job"], hint["what"]
        if what in _CANCELS:
            directory.tell("jobs", CancelNoticed(job_id=job, at_once=what != "cancel"))
            return
        notice = ShimNoticed(what=what, survivors=tuple(hint.get("survivors", ())))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ValidationError):
        return
    if isinstance(job, str) and JOB_ID.match(job):
        claimed = directory.tell(job_actor(job), notice)
        if not claimed and notice.what == "exited":
            directory.tell("jobs", Unclaimed(job))
