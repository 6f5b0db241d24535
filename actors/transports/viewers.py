"""People who watch and use a session's terminal: several at once, each over a connection of its own."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable

from .engine import Loop
from .repaint import repaint
from .terminal import Terminal

MOST_UNSENT = 4 * 1024 * 1024
"""A viewer that takes nothing for so long is dropped."""
RESIZE = re.compile(rb"\x1b_osrc;size;(\d{1,4});(\d{1,4})\x1b\\")
"""In-band: a viewer's rows and columns changed (an application command that no terminal sends)."""
_QUESTIONS = re.compile(
    rb"\x1b\[[>=]?0?c|\x1b\[\??[56]n|\x1b\[\?u|\x1b\[[><=][\d;]*u|\x1b\[>0?q|\x1b\[\?\d+\$p|\x1b\[1[468]t"
    rb"|\x1b\](?:4;\d+|1[0-2]);\?(?:\x07|\x1b\\)|\x1bP\+q[0-9a-fA-F;]*\x1b\\|\x1b_G[^\x1b]{0,512}\x1b\\"
)
"""What the program asks a terminal. We have answered; a viewer's terminal must not answer as well, nor be put
into a keyboard mode that the program was told there is none of."""


class Viewers:
    """Hands output to everyone, and what anyone types to the program."""

    def __init__(
        self, loop: Loop, terminal: Terminal, typed: Callable[[bytes], None], resize: Callable[[int, int], None]
    ) -> None:
        """Nobody watches yet."""
        self._loop, self._terminal, self._typed, self._resize = loop, terminal, typed, resize
        self._connections: dict[int, tuple[socket.socket, list[int]]] = {}
        self._held: dict[int, bytes] = {}

    def add(self, connection: socket.socket, columns: int, rows: int) -> None:
        """Begin to show: the terminal takes this viewer's size, and the picture as it is comes first."""
        connection.setblocking(False)
        descriptor = connection.fileno()
        self._connections[descriptor] = (connection, [0])
        self._loop.watch(descriptor, lambda: self._read(descriptor))
        self._write(descriptor, repaint(self._terminal))
        self._size(columns, rows)

    def show(self, data: bytes) -> None:
        """Pass output on."""
        if self._connections:
            clean = _QUESTIONS.sub(b"", data)
            for descriptor in list(self._connections):
                self._write(descriptor, clean)

    def close(self) -> None:
        """Let everyone go."""
        for descriptor in list(self._connections):
            self._drop(descriptor)

    def _size(self, columns: int, rows: int) -> None:
        if 20 <= columns <= 1000 and 5 <= rows <= 500:
            self._resize(columns, rows)

    def _write(self, descriptor: int, data: bytes) -> None:
        if not data or descriptor not in self._connections:
            return
        unsent = self._connections[descriptor][1]
        if unsent[0] > MOST_UNSENT:
            self._drop(descriptor)
            return
        unsent[0] += len(data)

        def done() -> None:
            unsent[0] -= len(data)

        self._loop.write(self._connections[descriptor][0], data, done)

    def _read(self, descriptor: int) -> None:
        try:
            data = self._connections[descriptor][0].recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(descriptor)
            return
        data = self._held.pop(descriptor, b"") + data
        for found in RESIZE.finditer(data):
            self._size(int(found[2]), int(found[1]))
        data = RESIZE.sub(b"", data)
        start = data.rfind(b"\x1b_")
        if start >= 0 and len(data) - start < 40 and b"\x1b\\" not in data[start:]:
            self._held[descriptor], data = data[start:], data[:start]
        if data:
            self._typed(data)

    def _drop(self, descriptor: int) -> None:
        found = self._connections.pop(descriptor, None)
        self._held.pop(descriptor, None)
        if found is not None:
            self._loop.unwatch(descriptor)
            found[0].close()
            if not self._connections:
                self._resize(0, 0)
