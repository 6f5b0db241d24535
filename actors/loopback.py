"""Listening on a port of this machine instead of a local socket (``messages/loopback.py`` has the handshake)."""

from __future__ import annotations

import os
import secrets
import socket
import time

from ..messages.loopback import HANDSHAKE_S, HOST, LINE, NONCE, TOKEN_FILE, address, admits, answer, nonce_of
from ..state.files import write_private
from ..state.home import Home

TOKEN_BYTES = 32


def open_port(home: Home, backlog: int) -> tuple[socket.socket, str, bytes]:
    """Return a listening socket, its address and a token that was written beside it. Raises OSError, StateError.

    Only this machine can reach it, and only who can read the state home is listened to.
    """
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.bind((HOST, 0))
        made.listen(backlog)
        token = secrets.token_bytes(TOKEN_BYTES)
        path = home.root / TOKEN_FILE
        write_private(path, token.hex().encode())
        return made, address(made.getsockname()[1], os.fspath(path)), token
    except BaseException:
        made.close()
        raise


def admit(connection: socket.socket, token: bytes) -> bool:
    """Shake hands with a client; whether it may go on. Never waits longer than the handshake's time."""
    deadline = time.monotonic() + HANDSHAKE_S
    client = nonce_of(_line(connection, deadline))
    if client is None:
        return False
    server = os.urandom(NONCE)
    connection.sendall(answer(token, client, server))
    return admits(token, client, server, _line(connection, deadline))


def _line(connection: socket.socket, deadline: float) -> bytes:
    """Return one line, byte by byte: what comes behind it is a frame's. Empty where none comes."""
    line = b""
    while not line.endswith(b"\n") and len(line) < LINE:
        left = deadline - time.monotonic()
        if left <= 0:
            return b""
        connection.settimeout(left)
        data = connection.recv(1)
        if not data:
            return b""
        line += data
    return line if line.endswith(b"\n") else b""
