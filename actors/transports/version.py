"""Which version a CLI is: asked of itself, beside the session it is started for. Standard library only."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping

from .engine import Loop

_LIMIT = 64 * 1024
_PATIENCE_S = 60.0


class VersionAsked:
    """``PROGRAM --version``, once. ``told`` gets what it printed, empty where it printed nothing in time."""

    def __init__(self, loop: Loop, program: str, env: Mapping[str, str], told: Callable[[str], None]) -> None:
        """Ask. Nothing is raised: what can't be asked is told as empty, soon."""
        self._loop, self._told = loop, told
        self._data = b""
        self._pid = self._descriptor = -1
        self._timer = loop.later(_PATIENCE_S, self._end)
        read, write = os.pipe()
        nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            actions = [(os.POSIX_SPAWN_DUP2, nowhere, 0), (os.POSIX_SPAWN_DUP2, write, 1)]
            actions.append((os.POSIX_SPAWN_DUP2, nowhere, 2))
            self._pid = os.posix_spawn(program, [program, "--version"], env, file_actions=actions, setpgroup=0)
        except (OSError, ValueError):
            os.close(read)
            loop.later(0.0, self._end)
            return
        finally:
            os.close(write)
            os.close(nowhere)
        os.set_blocking(read, False)
        self._descriptor = read
        loop.watch(read, self._readable)

    def _readable(self) -> None:
        try:
            data = os.read(self._descriptor, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._data += data
        if not data or len(self._data) > _LIMIT:
            self._end()

    def _end(self) -> None:
        """Tell, once; leave no process behind."""
        self._loop.forget(self._timer)
        if self._descriptor >= 0:
            self._loop.unwatch(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        if self._pid > 0:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = -1
        told, self._told = self._told, lambda _: None
        told(self._data.decode("utf-8", "replace"))

    def close(self) -> None:
        """It is not wanted any more."""
        self._told = lambda _: None
        self._end()
