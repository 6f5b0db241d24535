"""Panes of a tmux server, whichever it is: looked at, pasted into, never killed. Seen on tmux 3.3a."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from ..lanes.screens.delivery import PASTE_BEGIN, PASTE_END
from ..lanes.screens.model import Screen

TIMEOUT_S = 10.0
"""A server that does not answer for so long is slow, not gone."""
_FIELDS = (
    "pane_id",
    "pane_pid",
    "pane_tty",
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "pane_in_mode",
    "pane_dead",
    "pane_title",
)
_SEPARATOR = "\x1f"


class TmuxError(Exception):
    """tmux said no, or nothing. ``str()`` is its sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """What tmux tells of a pane."""

    pane_id: str
    pid: int
    tty: str
    width: int
    height: int
    cursor: tuple[int, int]
    """Row and column."""
    in_mode: bool
    """Somebody scrolls in it: what is typed would go to tmux."""
    dead: bool
    title: str


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0  # where there is no tmux either


class Tmux:
    """One server, by its socket."""

    def __init__(self, socket: str, environ: Mapping[str, str]) -> None:
        """Connect to nothing yet. ``environ`` is where tmux itself is looked for."""
        self.socket = socket
        self._environ = {name: value for name, value in environ.items() if name not in {"TMUX", "TMUX_PANE"}}

    @classmethod
    def of(cls, server: str | None, environ: Mapping[str, str]) -> Tmux:
        """The server that is meant: a socket's path, a name as after ``-L``; else the one we are in."""
        if server is not None and "/" in server:
            return cls(server, environ)
        if server is None and environ.get("TMUX"):
            return cls(environ["TMUX"].split(",")[0], environ)
        folder = os.path.join(environ.get("TMUX_TMPDIR") or "/tmp", f"tmux-{_user()}")  # noqa: PTH118, S108 - tmux's own place
        return cls(os.path.join(folder, server or "default"), environ)  # noqa: PTH118 - as above

    def run(self, *words: str, stdin: bytes | None = None) -> str:
        """Run one tmux command. Raises TmuxError."""
        argv = ["tmux", "-S", self.socket, *words]
        try:
            done = subprocess.run(
                argv,
                env=self._environ,
                input=stdin if stdin is not None else b"",
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except FileNotFoundError as error:
            raise TmuxError("tmux is not installed") from error
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise TmuxError(f"tmux gives no answer: {error}") from error
        if done.returncode:
            raise TmuxError(done.stderr.decode("utf-8", "replace").strip() or f"tmux failed ({done.returncode})")
        return done.stdout.decode("utf-8", "replace")

    def pane(self, target: str) -> Pane:
        """What tmux tells of a pane. Raises TmuxError where there is none."""
        wanted = _SEPARATOR.join(f"#{{{name}}}" for name in _FIELDS)
        parts = self.run("display-message", "-p", "-t", target, wanted).rstrip("\n").split(_SEPARATOR)
        if len(parts) < len(_FIELDS) or not parts[0].startswith("%"):
            raise TmuxError(f"there is no pane {target}")
        try:
            return Pane(
                pane_id=parts[0],
                pid=int(parts[1]),
                tty=parts[2],
                width=int(parts[3]),
                height=int(parts[4]),
                cursor=(int(parts[6]), int(parts[5])),
                in_mode=parts[7] not in {"", "0"},
                dead=parts[8] == "1",
                title=_SEPARATOR.join(parts[9:]),
            )
        except ValueError as error:
            raise TmuxError(f"tmux tells nothing of pane {target}") from error

    def screen(self, pane: Pane) -> Screen:
        """The picture of a pane as it is now."""
        text = self.run("capture-pane", "-p", "-e", "-t", pane.pane_id)
        try:
            from .transports.terminal import Terminal  # noqa: PLC0415  pyte costs 2 MB, and most never look at a pane
        except (ImportError, OSError) as error:
            raise TmuxError(f"the screen of pane {pane.pane_id} can't be read: {error}") from error
        terminal = Terminal(columns=pane.width, rows=pane.height)
        terminal.feed(text.rstrip("\n").replace("\n", "\r\n").encode())
        terminal.feed(b"\x1b[%d;%dH" % (pane.cursor[0] + 1, pane.cursor[1] + 1))
        shown = terminal.screen()
        return Screen(lines=shown.lines, bright=shown.bright, marked=shown.marked, cursor=pane.cursor, title=pane.title)

    def type(self, pane: Pane, keys: str) -> None:
        """Hand keys to a pane's program. A paste goes as one, so that tmux brackets it where the program wants that."""
        if keys.startswith(PASTE_BEGIN):
            text = keys.removeprefix(PASTE_BEGIN).removesuffix(PASTE_END)
            name = f"osrc-{os.getpid()}-{os.urandom(4).hex()}"
            self.run("load-buffer", "-b", name, "-", stdin=text.replace("\r", "\n").encode("utf-8", "replace"))
            self.run("paste-buffer", "-p", "-d", "-b", name, "-t", pane.pane_id)
        else:
            self.run("send-keys", "-t", pane.pane_id, "-H", *(f"{byte:02x}" for byte in keys.encode()))

    def session_of(self, target: str) -> str:
        """The id and the name of the session that a pane is in."""
        return self.run("display-message", "-p", "-t", target, "#{session_id}:#{session_name}").strip()
