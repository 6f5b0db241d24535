"""A holder's socket: one JSON line in, one out; every request bears the session's token. Standard library only.

``{"token": T, "op": "look" | "state" | "close" | "screen" | "attach", ...}`` is answered with ``{"ok": BOOL, ...}``.
After ``attach`` the connection is the terminal's, raw both ways.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import socket
from collections.abc import Callable
from typing import Any

from .transports.engine import Loop

REQUEST_LIMIT = 64 * 1024
MOST = 64
"""Connections at a time: more are closed unheard."""

Answerer = Callable[[str, dict[str, Any]], dict[str, Any] | None]


class Door:
    """Listens, and answers by ``answer(op, request)``. Without a socket a session works: its inbox is looked at."""

    def __init__(self, loop: Loop, path: str, token: str, answer: Answerer) -> None:
        """Listen to nobody yet."""
        self._loop, self._path, self._token, self._answer = loop, path, token, answer
        self._listener: socket.socket | None = None
        self._visitors: dict[int, tuple[socket.socket, bytearray]] = {}
        self._current: socket.socket | None = None

    def open(self) -> None:
        """Begin to listen, 0600, in place of a stale socket."""
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)
            made.bind(self._path)
            os.chmod(self._path, 0o600)
            made.listen(16)
        except OSError:
            made.close()
            return
        made.setblocking(False)
        self._listener = made
        self._loop.watch(made.fileno(), self._accept)

    def close(self) -> None:
        """Stop listening, drop visitors and remove the socket."""
        for visitor, _ in list(self._visitors.values()):
            self._dismiss(visitor)
        if self._listener is not None:
            self._loop.unwatch(self._listener.fileno())
            self._listener.close()
            self._listener = None
            with contextlib.suppress(OSError):
                os.unlink(self._path)

    def hand_over(self) -> socket.socket:
        """Return the connection of the request that is being answered: it is the taker's from now on."""
        visitor = self._current
        assert visitor is not None  # noqa: S101 - only called while a request is answered
        self._loop.unwatch(visitor.fileno())
        del self._visitors[visitor.fileno()]
        self._send(visitor, {"ok": True})
        return visitor

    def _accept(self) -> None:
        assert self._listener is not None  # noqa: S101 - watched only while it is there
        try:
            visitor, _ = self._listener.accept()
        except OSError:
            return
        if len(self._visitors) >= MOST:
            visitor.close()
            return
        visitor.setblocking(False)
        self._visitors[visitor.fileno()] = (visitor, bytearray())
        self._loop.watch(visitor.fileno(), lambda: self._read(visitor))

    def _read(self, visitor: socket.socket) -> None:
        _, held = self._visitors[visitor.fileno()]
        try:
            data = visitor.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        held += data
        if not data or len(held) > REQUEST_LIMIT:
            self._dismiss(visitor)
            return
        while b"\n" in held and visitor.fileno() in self._visitors:
            line, _, rest = bytes(held).partition(b"\n")
            held[:] = rest
            self._serve(visitor, line)

    def _serve(self, visitor: socket.socket, line: bytes) -> None:
        try:
            request = json.loads(line)
            known = hmac.compare_digest(str(request["token"]).encode(), self._token.encode())
            op = str(request["op"])
        except (ValueError, TypeError, KeyError, RecursionError):
            known, op, request = False, "", {}
        if not known:
            self._send(visitor, {"ok": False, "error": "the token is wrong"})
            self._dismiss(visitor)
            return
        self._current = visitor
        reply = self._answer(op, request)
        self._current = None
        if reply is not None:
            self._send(visitor, reply)

    def _send(self, visitor: socket.socket, reply: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # one that does not read gets no answer
            visitor.send(json.dumps(reply).encode() + b"\n")

    def _dismiss(self, visitor: socket.socket) -> None:
        if visitor.fileno() in self._visitors:
            del self._visitors[visitor.fileno()]
            self._loop.unwatch(visitor.fileno())
        visitor.close()
