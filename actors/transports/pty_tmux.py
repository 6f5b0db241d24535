"""A program in a pane of a tmux server of ours, for which this session's holder is one client. Seen on tmux 3.3a.

The server listens at a private socket beside the session's own, knows no key of its own and shows no status line, so
that what is typed reaches the program as in any terminal; any number of people may join it (``tmux -S SOCKET attach``).
It leaves with the program. It bears the session's id in its environment, by which it is ended with the session's tree.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Mapping, Sequence

from .engine import EngineError
from .pty import PtyEngine
from .pty_posix import PosixProcess
from .pty_process import TerminalProcess

START_S = 20.0
"""How long a server may take to have its pane."""
_PAUSE_S = 0.02
_CALL_S = 15.0
_SETUP = (
    ("set", "-g", "prefix", "None"),
    ("set", "-g", "prefix2", "None"),
    ("unbind-key", "-a", "-T", "root"),
    ("unbind-key", "-a", "-T", "prefix"),
    ("set", "-g", "status", "off"),
    ("set", "-g", "mouse", "off"),
    ("set", "-s", "escape-time", "0"),
    ("set", "-g", "default-terminal", "xterm-256color"),
    ("set", "-as", "terminal-features", ",xterm*:RGB:bpaste"),
    ("set", "-as", "terminal-overrides", ",xterm*:smcup@:rmcup@"),
    ("set", "-g", "window-size", "latest"),
    ("set", "-g", "remain-on-exit", "off"),
    ("set", "-g", "set-titles", "on"),
    ("set", "-g", "set-titles-string", "#{pane_title}"),
)
"""Without a key of tmux's own, and what scrolls away goes to the terminal's history as it does without tmux."""


class TmuxProcess(PosixProcess):
    """Our client's terminal; ``pid`` and ``terminal`` are the program's, which is the server's child."""

    def __init__(  # noqa: PLR0913 - by name
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        size: tuple[int, int],
        umask: int,
        *,
        socket: str,
        join: bool,
    ) -> None:
        """Start server, program and client; ``join``: the client alone. Raises EngineError."""
        self._tmux = ("tmux", "-u", "-S", socket)
        self._env = dict(env)
        self._socket = socket
        if not join:
            self._begin(argv, cwd, size, umask)
        try:
            super().__init__((*self._tmux, "attach", "-t", "osrc"), env, cwd, size, umask)
            self._client = self.pid
            self.pid, self.terminal = self._pane()
        except EngineError:
            with contextlib.suppress(EngineError):
                self._call(("kill-server",), cwd, umask)
            raise

    def _begin(self, argv: Sequence[str], cwd: str, size: tuple[int, int], umask: int) -> None:
        columns, rows = size
        with contextlib.suppress(OSError):
            os.unlink(self._socket)  # of an attempt that is over: its server went with it
        begin = ("new-session", "-d", "-s", "osrc", "-x", str(columns), "-y", str(rows), "-c", cwd)
        words = (*begin, "--", "env", "-u", "TMUX", "-u", "TMUX_PANE", *map(str, argv))
        setup = [word for command in _SETUP for word in (*command, ";")]
        self._call(("-f", os.devnull, "start-server", ";", *setup, *words), cwd, umask)

    def ended(self) -> tuple[int | None, int | None] | None:
        """See ``TerminalProcess``. How the program ended only its server knew."""
        program, self.pid = self.pid, self._client
        try:
            over = super().ended()
        finally:
            self.pid = program
        return None if over is None else (None, None)

    def terminate(self) -> None:
        """See ``TerminalProcess``; a server that still runs has lost its program."""
        super().terminate()
        with contextlib.suppress(EngineError):
            self._call(("kill-server",), "/", 0o077)
        with contextlib.suppress(OSError):
            os.unlink(self._socket)

    def _pane(self) -> tuple[int, str | None]:
        """Return the program's process and terminal."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            with contextlib.suppress(EngineError, ValueError):
                told = self._call(("display-message", "-p", "-t", "osrc", "#{pane_pid} #{pane_tty}"), "/", 0o077)
                pid, _, terminal = told.strip().partition(" ")
                return int(pid), terminal or None
            if (over := super().ended()) is not None:
                raise EngineError("the program ended as soon as tmux had started it" if over else "tmux ended")
            time.sleep(_PAUSE_S)
        raise EngineError(f"tmux told nothing of its pane within {START_S:.0f} s")

    def _call(self, words: Sequence[str], cwd: str, umask: int) -> str:
        """Run one command of tmux's. Raises EngineError with what it said."""
        try:
            done = subprocess.run(
                (*self._tmux, *words),
                env=self._env,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_CALL_S,
                check=False,
                umask=umask,
            )
        except FileNotFoundError:
            raise EngineError("tmux is not on the session's PATH") from None
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise EngineError(f"tmux gives no answer: {error}") from None
        if done.returncode:
            raise EngineError(done.stderr.decode("utf-8", "replace").strip() or f"tmux failed ({done.returncode})")
        return done.stdout.decode("utf-8", "replace")


class TmuxEngine(PtyEngine):
    """A terminal session whose terminal is a tmux pane."""

    def spawn(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str, size: tuple[int, int], umask: int
    ) -> TerminalProcess:
        """Start the program in a pane of a server of its own. Raises EngineError."""
        launch = self._stage.launch
        socket = str(launch.get("tmux") or f"{launch['socket']}.tmux")
        join = bool((launch.get("options") or {}).get("join"))
        return TmuxProcess(argv, env, cwd, size, umask, socket=socket, join=join)
