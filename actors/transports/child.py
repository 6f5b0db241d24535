"""A delegate with pipes of its own: started, read without blocking, waited for. Standard library only.

``Child`` waits for its pipes in the loop; ``plain_child.PlainChild`` reads and writes them in threads.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable

from ...state.flags import CLOEXEC, NOFOLLOW
from ..windows_argv import APART, startable
from .engine import EngineError, Loop, Stage

EXIT_LOOK_S = 0.2
READ = 1 << 16
MOST_LEFT = 4096
"""Most reads after its end: a descendant may go on writing."""


class Child:
    """One process, its stdin and stdout; stderr goes to ``err.log``."""

    def __init__(self, stage: Stage, heard: Callable[[bytes], None]) -> None:
        """``heard`` gets what it writes; at the end, an empty piece."""
        self._stage = stage
        self._heard = heard
        self._process: subprocess.Popen[bytes] | None = None
        self._reading = False
        self._exit: tuple[int | None, int | None] | None = None

    @property
    def pid(self) -> int | None:
        """Its process, once started."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start it in a session of its own. Raises EngineError."""
        self._process = started(self._stage)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None  # noqa: S101 - it was started with pipes
            os.set_blocking(stream.fileno(), False)
        assert self._process.stdout is not None  # noqa: S101 - as above
        self._reading = True
        self._stage.loop.watch(self._process.stdout.fileno(), self._read)
        when_ended(self._stage.loop, self._process, self._ended)

    def write(self, data: bytes, done: Callable[[], None] | None = None) -> None:
        """Write to its stdin, behind what waits."""
        process = self._process
        if process is not None and process.stdin is not None and not process.stdin.closed:
            self._stage.loop.write(process.stdin.fileno(), data, done)

    def close_stdin(self) -> None:
        """Close its stdin: most programs take that for the end."""
        process = self._process
        if process is not None and process.stdin is not None and not process.stdin.closed:
            self._stage.loop.unwatch(process.stdin.fileno())
            with contextlib.suppress(OSError):
                process.stdin.close()

    def _read(self) -> None:
        assert self._process is not None  # noqa: S101 - watched only once started
        assert self._process.stdout is not None  # noqa: S101 - as above
        descriptor = self._process.stdout.fileno()
        try:
            data = os.read(descriptor, READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._stage.loop.unwatch(descriptor)
            self._reading = False
        self._heard(data)

    def _ended(self, code: int | None, signal: int | None) -> None:
        """Read what is left, then tell. A grandchild that keeps the pipe open is not waited for."""
        process = self._process
        if self._reading and process is not None and process.stdout is not None:
            self._reading = False
            self._stage.loop.unwatch(process.stdout.fileno())
            with contextlib.suppress(OSError):
                for _ in range(MOST_LEFT):
                    data = os.read(process.stdout.fileno(), READ)
                    if not data:
                        break
                    self._heard(data)
            self._heard(b"")
        self._stage.gone(code, signal)


def started(stage: Stage) -> subprocess.Popen[bytes]:
    """Start a stage's delegate with pipes, in a session of its own; stderr goes to ``err.log``. Raises EngineError."""
    launch = stage.launch
    argv = [str(word) for word in launch["argv"]]
    errors = os.open(
        os.path.join(stage.folder, "err.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | NOFOLLOW | CLOEXEC, 0o600
    )
    try:
        return subprocess.Popen(
            startable(argv, launch["env"]),
            cwd=launch["cwd"],
            env=dict(launch["env"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            umask=int(launch.get("umask", 0o022)),
            creationflags=APART,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise EngineError(f"{argv[0]} can't be started: {reason}") from None
    finally:
        os.close(errors)


def when_ended(loop: Loop, process: subprocess.Popen[bytes], told: Callable[[int | None, int | None], None]) -> None:
    """Call ``told(code, signal)`` once the process has ended; exactly one of the two is None."""

    def look() -> bool:
        status = process.poll()
        if status is None:
            return False
        told(*((status, None) if status >= 0 else (None, -status)))
        return True

    def again() -> None:
        if not look():
            loop.later(EXIT_LOOK_S, again)

    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        loop.later(EXIT_LOOK_S, again)
        return

    def ready() -> None:
        loop.unwatch(descriptor)
        os.close(descriptor)
        again()

    loop.watch(descriptor, ready)
