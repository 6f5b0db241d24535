"""A session's live terminal on this one: raw both ways until the detach key. Standard library only."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
from typing import Any

from ..messages.loopback import door_port
from .errors import CliError
from .interrupts import heard
from .sessions import Session

DETACH = b"\x1d"
"""Ctrl-]: no interface of those that are known uses it."""
_LEAVE = b"\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b[0m\x1b[?25h\r\n"
"""Gives the terminal back, whatever the program had switched on."""
_REPLY_LIMIT = 64 * 1024
CONNECT_S = 10.0


def attach(found: Session) -> str:
    """Show a session's terminal on this one. Returns why it ended: ``detached`` or ``ended``. Raises CliError.

    TERM and HUP end it, too, with this terminal as it was before.
    """
    if sys.platform == "win32":
        message = "attach is not there on Windows: a console's keys and pictures are not passed on"
        raise CliError("no_result", message, f"osrc session read {found['name']} -f")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CliError("usage", "attach needs a terminal", f"osrc session read {found['name']} -f")
    columns, rows = os.get_terminal_size(1)
    connection, first = _connect(found, rows, columns)
    with connection, heard():
        return _Passage(connection).run(first)


def _connect(found: Session, rows: int, columns: int) -> tuple[socket.socket, bytes]:
    folder = os.path.dirname(str(found["events_path"]))  # noqa: PTH120 - no pathlib on this path
    held = _holder(os.path.join(folder, "holder.json"))  # noqa: PTH118 - as above
    connection: Any = None
    try:
        connection, request = _reach(str(held["socket"]), str(held["token"]))
        connection.settimeout(CONNECT_S)
        request |= {"op": "attach", "rows": rows, "columns": columns}
        connection.sendall(json.dumps(request).encode() + b"\n")
        data = b""
        while b"\n" not in data and len(data) < _REPLY_LIMIT:
            chunk = connection.recv(4096)
            if not chunk:
                break
            data += chunk
        line, _, rest = data.partition(b"\n")
        reply = json.loads(line)
    except (OSError, ValueError) as error:
        if connection is not None:
            connection.close()
        message = f"the session {found['name']} can't be reached: {error}"
        raise CliError("session_ended", message, "osrc session list --all") from error
    if not isinstance(reply, dict) or not reply.get("ok"):
        connection.close()
        message = f"{found['name']} is a {found['transport']} session: it has no terminal"
        raise CliError("no_result", message, f"osrc session read {found['name']} -f")
    connection.settimeout(None)
    return connection, rest


def _reach(place: str, token: str) -> tuple[socket.socket, dict[str, Any]]:
    """Return a connection to a holder, and what a request there begins with. Raises OSError."""
    if (port := door_port(place)) is not None:
        from .loopback import connect_with  # noqa: PLC0415 - only where there are no local sockets

        made = connect_with(port, token.encode())
        return socket.socket(made.family, made.type, made.proto, made.detach()), {}
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(CONNECT_S)
    try:
        connection.connect(place)
    except OSError:
        connection.close()
        raise
    return connection, {"token": token}


def _holder(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - no pathlib on this path
            value = json.load(file)
        return {"socket": value["socket"], "token": value["token"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CliError("session_ended", "the session has no holder", "osrc session list --all") from error


class _Passage:
    """The raw passage between this terminal and the session's."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._resized = False

    def run(self, first: bytes) -> str:
        import termios  # noqa: PLC0415 - POSIX only, and only here
        import tty  # noqa: PLC0415 - as above

        before = termios.tcgetattr(0)
        old = signal.signal(signal.SIGWINCH, self._on_resize)
        try:
            tty.setraw(0)
            _write(first)
            return self._pass()
        finally:
            signal.signal(signal.SIGWINCH, old)
            with contextlib.suppress(OSError, termios.error):  # the terminal may be gone
                _write(_LEAVE)
                termios.tcsetattr(0, termios.TCSAFLUSH, before)

    def _on_resize(self, *_: object) -> None:
        self._resized = True

    def _pass(self) -> str:
        while True:
            if self._resized:
                self._resized = False
                columns, rows = os.get_terminal_size(1)
                with contextlib.suppress(OSError):
                    self._connection.sendall(b"\x1b_osrc;size;%d;%d\x1b\\" % (rows, columns))
            there = self._connection.fileno()
            ready, _, _ = select.select([0, there], [], [], 0.5)
            if there in ready:
                data = _received(self._connection)
                if not data:
                    return "ended"
                _write(data)
            if 0 in ready:
                typed = os.read(0, 65536)
                kept, key, _ = typed.partition(DETACH)
                with contextlib.suppress(OSError):
                    self._connection.sendall(kept)
                if key or not typed:
                    return "detached"


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except OSError:
        return b""


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]
