"""The client's side of a supervisor, or a session's door, on a port of this machine. Loaded only where there is one."""

from __future__ import annotations

import _socket
import errno
import os
import time

from ..messages.loopback import HANDSHAKE_S, HOST, LINE, NONCE, hello, proven
from .place import open_regular

_TOKEN_LIMIT = 256


def connect(port: int, token_file: str) -> _socket.socket:
    """Return a connection to whoever proved to hold the token in that file. Raises OSError with the reason."""
    return connect_with(port, _token(token_file))


def connect_with(port: int, token: bytes) -> _socket.socket:
    """Return a connection to whoever proved to hold this token. Raises OSError with the reason."""
    made = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        made.settimeout(HANDSHAKE_S)
        made.connect((HOST, port))
        nonce = os.urandom(NONCE)
        made.sendall(hello(nonce))
        made.sendall(_proof(token, nonce, _line(made)))
    except BaseException:
        made.close()
        raise
    return made


def _proof(token: bytes, nonce: bytes, line: bytes) -> bytes:
    said = proven(token, nonce, line)
    if said is None:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "somebody else listens there")
    return said


def _token(path: str) -> bytes:
    descriptor = open_regular(path)
    try:
        text = os.read(descriptor, _TOKEN_LIMIT)
    finally:
        os.close(descriptor)
    try:
        return bytes.fromhex(text.decode("ascii"))
    except ValueError:
        raise OSError(errno.EINVAL, "its token can't be read", path) from None


def _line(made: _socket.socket) -> bytes:
    line, deadline = b"", time.monotonic() + HANDSHAKE_S
    while not line.endswith(b"\n") and len(line) < LINE and time.monotonic() < deadline:
        data = made.recv(1)
        if not data:
            break
        line += data
    return line
