"""Starting and ending a supervisor process, and the tree in this process. Off the hot path."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from .. import __version__
from .channel import Body, Channel
from .client import STOPPED_S, Connection, NoConnectionError, stopped
from .errors import CliError, TimeLimitError
from .place import full_home, open_regular, read_supervisor_file
from .render.plain import one_line

START_S = 60.0
"""Longest wait for a new supervisor to listen; an overloaded machine may need half of it."""

LEAVE_S = 60.0
"""Longest wait for a supervisor to leave after it was asked to."""

_LOG_TAIL = 64 * 1024

_DETACHED = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""On Windows: out of reach of this terminal's Ctrl-C, on a console that nobody sees."""
_LEAVE_JOB = getattr(subprocess, "CREATE_BREAKAWAY_FROM_JOB", 0)
"""And out of the job object that we may be in, a delegate's or a terminal's: it would end a supervisor with itself."""


LEFT_S = 2.0
"""How long another client's supervisor, for which ours left, is waited for before the next is tried."""

LEFT = 3
"""So many times in a row that nobody comes to listen mean that a command holds the lock, not a supervisor."""

KILLED = 3
"""So many new supervisors that are killed before they listen mean that none can be had here."""


class _GoneError(Exception):
    """A new supervisor is gone: it left for another one, or was killed."""


class CannotDetachError(Exception):
    """No supervisor process can be had here; the sentence says why."""


def start(root: str) -> Channel:
    """Start a supervisor and return a channel to it.

    Raises StateError when the state home can't be used, CannotDetachError when the process can't be
    started or ends before it listens. Several clients may do this at once: one of theirs wins.
    """
    home = full_home(os.environ, root)
    home.preflight()
    with _turn(root) as started:
        return started or _start(root)


@contextlib.contextmanager
def _turn(root: str) -> Iterator[Channel | None]:
    """Let one client at a time start a supervisor; give what another one has started meanwhile.

    The supervisor's own lock would do, but each of sixteen would load the whole product to find it taken.
    """
    path = f"{root}/supervisor.start"
    try:
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise CannotDetachError(f"{path} can't be used: {error.strerror}") from None
    try:
        deadline = time.monotonic() + START_S
        found = _listening(root)
        while found is None and not _locked(descriptor) and time.monotonic() < deadline:
            time.sleep(0.02)
            found = _listening(root)
        yield found or _listening(root)
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Take the lock if it is free. The kernel frees it when its holder is gone."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, where every client starts one and all but one leave
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # A file system without locks must not keep anybody from starting.
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR)
    return True


def _listening(root: str) -> Channel | None:
    """Return a channel to the supervisor if one listens."""
    seen = read_supervisor_file(root)
    if seen is None or not alive(seen):
        return None
    try:
        return Connection(seen["socket"])
    except NoConnectionError:
        return None


def _start(root: str) -> Channel:
    log = f"{root}/supervisor.log"
    before = _size(log)
    deadline = time.monotonic() + START_S
    killed = left = 0
    while True:
        try:
            child = _spawn(root, log)
        except OSError as error:
            raise CannotDetachError(f"a process can't be started: {error.strerror or error}") from None
        try:
            return _until_it_listens(root, child, log, before, deadline)
        except _GoneError:
            # It found another one that holds the lock, which may itself have been killed since: then the
            # next finds the lock free. Or it was killed, which may be bad luck once, or a sandbox's rule.
            killed += child.returncode != 0
            if killed >= KILLED:
                raise CannotDetachError(f"the supervisor was killed {killed} times while it started") from None
            left += child.returncode == 0
            if left >= LEFT and not _supervisor_alive(root):
                raise CannotDetachError("another command looks after the jobs by itself") from None


def _spawn(root: str, log: str) -> subprocess.Popen[bytes]:
    try:
        descriptor = open_regular(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    except OSError as error:
        raise CannotDetachError(f"{log} can't be used: {error.strerror}") from None
    try:
        return _begin(root, descriptor, _DETACHED | _LEAVE_JOB)
    except PermissionError:
        if not _LEAVE_JOB:
            raise
        return _begin(root, descriptor, _DETACHED)  # that job object lets nobody out
    finally:
        os.close(descriptor)


def _begin(root: str, output: int, flags: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # a session of its own: it must outlive this terminal
        # -P: the folder it starts in is no place to import from.
        [sys.executable, "-P", "-m", "outsourcerer.actors.daemon", "--home", root],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd="/",
        env=_environment(),
        start_new_session=True,
        creationflags=flags,
    )


def _environment() -> dict[str, str]:
    """Return this environment, so that the new process finds this very package wherever it was imported from."""
    environment = dict(os.environ)
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - strings suffice
    parent, name = os.path.split(package)
    places = [os.path.abspath(place or ".") for place in sys.path]  # noqa: PTH100 - as above
    if name == "outsourcerer" and parent in places:
        inherited = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = parent + (os.pathsep + inherited if inherited else "")
    return environment


def _until_it_listens(root: str, child: subprocess.Popen[bytes], log: str, before: int, deadline: float) -> Channel:
    """Return a channel to ``child``, or to another one that was faster.

    Raises _GoneError when it is worth another start.
    """
    pause = 0.004
    refused = ""
    ended_at: float | None = None
    while time.monotonic() < deadline:
        seen = read_supervisor_file(root)
        if seen is not None and (ended_at is not None or seen.get("pid") == child.pid or alive(seen)):
            try:
                return Connection(seen["socket"])
            except NoConnectionError as error:
                if error.forbidden:
                    raise CannotDetachError(str(error)) from None
                refused = str(error)
        if ended_at is None and child.poll() is not None:
            ended_at = time.monotonic()
        if ended_at is not None and time.monotonic() > ended_at + (LEFT_S if child.returncode == 0 else 0.2):
            if child.returncode <= 0:
                raise _GoneError
            raise CannotDetachError(
                _cause(log, before) or refused or f"the supervisor ended with {child.returncode} before it listened"
            )
        time.sleep(pause)
        pause = min(pause * 1.3, 0.05)
    cause = _cause(log, before) or refused
    raise CliError(
        "supervisor_unavailable",
        f"the supervisor (pid {child.pid}) did not listen within {START_S:.0f} s" + (f": {cause}" if cause else ""),
        f"see {log}",
    )


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - a plain system call
    except OSError:
        return 0


def _cause(log: str, before: int) -> str:
    """Return the last line that a failed start left in the log, or nothing."""
    try:
        with os.fdopen(open_regular(log), "rb") as file:
            file.seek(max(before, _size(log) - _LOG_TAIL))
            lines = file.read(_LOG_TAIL).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((one_line(line, 300) for line in reversed(lines) if _says(line)), "")


def _says(line: str) -> bool:
    """Whether a line of the log says something to people: a trace whose end is not there does not."""
    return bool(line.strip()) and not line[0].isspace() and not line.startswith("Traceback (")


def _supervisor_alive(root: str) -> bool:
    seen = read_supervisor_file(root)
    return seen is not None and alive(seen)


def alive(seen: Mapping[str, Any]) -> bool:
    """Whether the process that wrote the supervisor file still exists (as itself, not its recycled pid)."""
    return _look(seen) in ("running", "stopped")


def _look(seen: Mapping[str, Any]) -> str:
    from ..state.identity import look  # noqa: PLC0415 - Linux needs only /proc, others psutil

    pid, started = seen.get("pid"), seen.get("started")
    if not isinstance(pid, int) or pid <= 0 or not isinstance(started, int | float):
        return "gone"
    return look(pid, started, str(seen.get("boot_id")))


def answers(path: str) -> bool:
    """Whether somebody can be connected to at ``path``."""
    try:
        Connection(path).close()
    except NoConnectionError:
        return False
    except Exception:  # noqa: BLE001 - whoever answers wrongly has answered
        return True
    return True


def terminate(seen: Mapping[str, Any], number: int = signal.SIGTERM) -> None:
    """Send a signal to the supervisor that wrote the file, and to nobody else."""
    if alive(seen):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(seen["pid"]), number)


def wait_until_gone(seen: Mapping[str, Any]) -> None:
    """Wait until that supervisor has left. Raises CliError when it does not."""
    began = time.monotonic()
    deadline = began + LEAVE_S
    while alive(seen):
        if time.monotonic() > began + STOPPED_S and _look(seen) == "stopped":
            raise stopped(int(seen["pid"]))
        if time.monotonic() > deadline:
            raise CliError(
                "supervisor_busy",
                f"the supervisor (pid {seen.get('pid')}) was asked to leave and did not within {LEAVE_S:.0f} s",
                f"kill -9 {seen.get('pid')} is safe: the next supervisor adopts its jobs",
            )
        time.sleep(0.02)


class InProcess:
    """The whole tree inside this command, behind the same interface as a connection."""

    version = __version__

    def __init__(self, root: str) -> None:
        """Open the tree. Raises StateError when the home can't be used or another supervisor holds it."""
        from ..actors.inprocess import open_tree  # noqa: PLC0415 - the whole product

        home = full_home(os.environ, root)
        home.preflight()
        self._tree = open_tree(home, os.environ)

    def exchange(self, body: Body, *, deadline: float | None = None) -> Iterator[Body]:
        """Yield each reply. A bounded stream asks for frames often, to see its bound pass."""
        if deadline is not None and body.get("kind") == "follow.jobs":
            body = {**body, "every_s": min(body.get("every_s") or 0.5, 0.5)}
        for reply in self._tree.exchange(body):
            yield reply
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeLimitError

    def close(self) -> None:
        """Stop the tree; delegates that still run are left running."""
        self._tree.close("shutdown")


def end_here(root: str) -> bool:
    """Take up all that is left running and end it, in this process. False: another process looks after it.

    Raises StateError where the state home can't be used.
    """
    from ..actors.inprocess import end_all  # noqa: PLC0415 - the whole product

    return end_all(full_home(os.environ, root), os.environ)


def in_process(root: str) -> Channel:
    """Return a tree in this process. Raises StateError where none can be."""
    return InProcess(root)
