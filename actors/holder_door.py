"""A holder's socket: one JSON line in, one out; every request bears the session's token. Standard library only.

``{"token": T, "op": "look" | "state" | "close" | "screen" | "attach", ...}`` is answered with ``{"ok": BOOL, ...}``.
After ``attach`` the connection is the terminal's, raw both ways.

Where there are no local sockets it is a port of this machine. There a token is never sent: each side proves first that
it has it (``messages/loopback.py``), and no request bears one.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..messages import loopback
from .transports.engine import Loop

REQUEST_LIMIT = 64 * 1024
BACKLOG = 16
MOST = 64
"""Connections at a time: more are closed unheard."""

Answerer = Callable[[str, dict[str, Any]], dict[str, Any] | None]


@dataclass(slots=True)
class _Visitor:
    """One connection, and how far it has come."""

    connection: socket.socket
    held: bytearray = field(default_factory=bytearray)
    admitted: bool = False
    """Whether it has proved itself, so that its requests need no token."""
    nonces: tuple[bytes, bytes] | None = None
    """The client's and ours, once it has said its own."""


class Door:
    """Listens, and answers by ``answer(op, request)``. Without a socket a session works: its inbox is looked at."""

    def __init__(self, loop: Loop, place: str, token: str, answer: Answerer) -> None:
        """Listen to nobody yet. ``place`` is a path, or a port (``messages.loopback.door``) that is chosen then."""
        self._loop, self._place, self._token, self._answer = loop, place, token, answer
        self._port = loopback.is_port(place)
        self._listener: socket.socket | None = None
        self._visitors: dict[int, _Visitor] = {}
        self._current: socket.socket | None = None

    def open(self) -> str:
        """Begin to listen, for this user alone; return where. Empty where that can't be."""
        try:
            made = self._listen_at_port() if self._port else self._listen_at_path()
        except OSError:
            return ""
        made.setblocking(False)
        self._listener = made
        self._loop.watch(made.fileno(), self._accept)
        return self._place

    def _listen_at_port(self) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            made.bind((loopback.HOST, 0))
            made.listen(BACKLOG)
        except OSError:
            made.close()
            raise
        self._place = loopback.door(made.getsockname()[1])
        return made

    def _listen_at_path(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._place)  # a stale one
            made.bind(self._place)
            os.chmod(self._place, 0o600)
            made.listen(BACKLOG)
        except OSError:
            made.close()
            raise
        return made

    def close(self) -> None:
        """Stop listening, drop visitors and remove the socket."""
        for visitor in list(self._visitors.values()):
            self._dismiss(visitor)
        if self._listener is not None:
            self._loop.unwatch(self._listener.fileno())
            self._listener.close()
            self._listener = None
            if not self._port:
                with contextlib.suppress(OSError):
                    os.unlink(self._place)

    def hand_over(self) -> socket.socket:
        """Return the connection of the request that is being answered: it is the taker's from now on."""
        connection = self._current
        assert connection is not None  # noqa: S101 - only called while a request is answered
        self._loop.unwatch(connection.fileno())
        del self._visitors[connection.fileno()]
        _send(connection, {"ok": True})
        return connection

    def _accept(self) -> None:
        assert self._listener is not None  # noqa: S101 - watched only while it is there
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        if len(self._visitors) >= MOST:
            connection.close()
            return
        connection.setblocking(False)
        visitor = self._visitors[connection.fileno()] = _Visitor(connection)
        self._loop.watch(connection.fileno(), lambda: self._read(visitor))
        if self._port:
            self._loop.later(loopback.HANDSHAKE_S, lambda: None if visitor.admitted else self._dismiss(visitor))

    def _read(self, visitor: _Visitor) -> None:
        try:
            data = visitor.connection.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        held = visitor.held
        held += data
        if not data or len(held) > REQUEST_LIMIT:
            self._dismiss(visitor)
            return
        while b"\n" in held and self._is_here(visitor):
            line, _, rest = bytes(held).partition(b"\n")
            held[:] = rest
            if self._port and not visitor.admitted:
                self._admit(visitor, line)
            else:
                self._serve(visitor, line)

    def _admit(self, visitor: _Visitor, line: bytes) -> None:
        """Take one line of the handshake."""
        token = self._token.encode()
        if visitor.nonces is None:
            client, server = loopback.nonce_of(line) if len(line) < loopback.LINE else None, os.urandom(loopback.NONCE)
            if client is None:
                self._dismiss(visitor)
                return
            visitor.nonces = (client, server)
            with contextlib.suppress(OSError):
                visitor.connection.send(loopback.answer(token, client, server))
        elif loopback.admits(token, *visitor.nonces, line):
            visitor.admitted = True
        else:
            self._dismiss(visitor)

    def _serve(self, visitor: _Visitor, line: bytes) -> None:
        try:
            request = json.loads(line)
            token = "" if visitor.admitted else str(request["token"])
            known = visitor.admitted or hmac.compare_digest(token.encode(), self._token.encode())
            op = str(request["op"])
        except (ValueError, TypeError, KeyError, RecursionError):
            known, op, request = False, "", {}
        if not known:
            _send(visitor.connection, {"ok": False, "error": "the token is wrong"})
            self._dismiss(visitor)
            return
        self._current = visitor.connection
        reply = self._answer(op, request)
        self._current = None
        if reply is not None:
            _send(visitor.connection, reply)

    def _is_here(self, visitor: _Visitor) -> bool:
        return self._visitors.get(visitor.connection.fileno()) is visitor

    def _dismiss(self, visitor: _Visitor) -> None:
        if self._is_here(visitor):
            del self._visitors[visitor.connection.fileno()]
            self._loop.unwatch(visitor.connection.fileno())
            visitor.connection.close()


def _send(connection: socket.socket, reply: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # one that does not read gets no answer
        connection.send(json.dumps(reply).encode() + b"\n")
