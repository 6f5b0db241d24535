"""Which version a CLI is: asked of itself, beside the session it is started for. Standard library only."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import Protocol

from ..windows_argv import APART, startable
from .engine import Loop

_LIMIT = 64 * 1024
_PATIENCE_S = 60.0


class Asked(Protocol):
    """A question that is still open."""

    def close(self) -> None:
        """It is not wanted any more."""
        ...


def ask_version(
    loop: Loop, program: str, env: Mapping[str, str], told: Callable[[str], None], *, plain: bool = False
) -> Asked:
    """Ask a program; ``plain``: by a thread, as where pipes can't be waited for."""
    return (VersionAskedPlainly if plain else VersionAsked)(loop, program, env, told)


class VersionAsked:
    """``PROGRAM --version``, once. ``told`` gets what it printed, empty where it printed nothing in time.

    Some print it to stderr alone (seen: pi 0.73.1): that counts where stdout has nothing.
    """

    def __init__(self, loop: Loop, program: str, env: Mapping[str, str], told: Callable[[str], None]) -> None:
        """Ask. Nothing is raised: what can't be asked is told as empty, soon."""
        self._loop, self._told = loop, told
        self._data: dict[int, bytes] = {}
        self._open: set[int] = set()
        self._pid = -1
        self._timer = loop.later(_PATIENCE_S, self._end)
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            ends = ((nowhere, 0), (out_end, 1), (err_end, 2))
            actions = [(os.POSIX_SPAWN_DUP2, *end) for end in ends]
            self._pid = os.posix_spawn(program, [program, "--version"], env, file_actions=actions, setpgroup=0)
        except (OSError, ValueError):
            os.close(out)
            os.close(err)
            loop.later(0.0, self._end)
            return
        finally:
            for descriptor in (out_end, err_end, nowhere):
                os.close(descriptor)
        self._open = {out, err}
        for descriptor in (out, err):
            self._data[descriptor] = b""
            os.set_blocking(descriptor, False)
            loop.watch(descriptor, lambda descriptor=descriptor: self._readable(descriptor))  # type: ignore[misc]

    def _readable(self, descriptor: int) -> None:
        if descriptor not in self._open:
            return
        try:
            data = os.read(descriptor, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._data[descriptor] += data
        if not data:
            self._shut(descriptor)
        if not self._open or len(self._data[descriptor]) > _LIMIT:
            self._end()

    def _shut(self, descriptor: int) -> None:
        self._open.discard(descriptor)
        self._loop.unwatch(descriptor)
        os.close(descriptor)

    def _end(self) -> None:
        """Tell, once; leave no process behind."""
        self._loop.forget(self._timer)
        for descriptor in tuple(self._open):
            self._shut(descriptor)
        if self._pid > 0:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = -1
        told, self._told = self._told, lambda _: None
        said = next((data for data in self._data.values() if data.strip()), b"")
        told(said.decode("utf-8", "replace"))

    def close(self) -> None:
        """It is not wanted any more."""
        self._told = lambda _: None
        self._end()


class VersionAskedPlainly:
    """The same by a thread that waits."""

    def __init__(self, loop: Loop, program: str, env: Mapping[str, str], told: Callable[[str], None]) -> None:
        """Ask. Nothing is raised: what can't be asked is told as empty."""
        self._loop, self._told = loop, told
        loop.open_to_threads()
        words = [program, "--version"]
        threading.Thread(target=self._ask, args=(words, dict(env)), name="version", daemon=True).start()

    def _ask(self, words: list[str], env: dict[str, str]) -> None:
        said = b""
        with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
            done = subprocess.run(
                startable(words, env),
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATIENCE_S,
                check=False,
                creationflags=APART,
            )
            said = next((data for data in (done.stdout, done.stderr) if data.strip()), b"")
        self._loop.tell(lambda: self._told(said[:_LIMIT].decode("utf-8", "replace")))

    def close(self) -> None:
        """It is not wanted any more. It ends by itself, or with its holder."""
        self._told = lambda _: None
