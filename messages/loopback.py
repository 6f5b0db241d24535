"""The supervisor on a port of this machine, where there are no local sockets: how each side proves itself. Pure.

    client  →  HELLO nonce
    server  →  nonce proof       over both nonces, by the token
    client  →  proof             the same the other way; then frames, as on a local socket

The token stands in a private file that only this user can read, new with each supervisor; it is never sent, so that
whoever took the port of one that is gone learns nothing and is told nothing.
"""

from __future__ import annotations

import hashlib
import hmac

HOST = "127.0.0.1"
HELLO = b"osrc-loopback-1 "
LINE = 256
"""Longest line of the three, with its end."""
NONCE = 32
"""Bytes of a nonce."""
TOKEN_FILE = "supervisor.token"  # noqa: S105 - the name of the file
HANDSHAKE_S = 10.0

_SCHEME = "tcp:"


def address(port: int, token_file: str) -> str:
    """Return the address that stands where a local socket's path stands else."""
    return f"{_SCHEME}{port}:{token_file}"


def parse(text: str) -> tuple[int, str] | None:
    """Return the port and the token's file of such an address; None for a path."""
    head, colon, path = text[len(_SCHEME) :].partition(":")
    port = door_port(_SCHEME + head) if colon and text.startswith(_SCHEME) else None
    return None if port is None else (port, path)


def door(port: int) -> str:
    """Return the address of a session's door at a port; its token stands beside the address. 0: one is to be found."""
    return f"{_SCHEME}{port}"


def is_port(text: str) -> bool:
    """Whether an address is a port of this machine, and not a path."""
    return text.startswith(_SCHEME)


def door_port(text: str) -> int | None:
    """Return the port of a door's address; None for anything else."""
    port = text[len(_SCHEME) :] if is_port(text) else ""
    known = port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536
    return int(port) if known else None


def hello(nonce: bytes) -> bytes:
    """Return the client's first line."""
    return HELLO + nonce.hex().encode() + b"\n"


def nonce_of(line: bytes) -> bytes | None:
    """Return the nonce of a client's first line; None where it is none."""
    return _bytes(line[len(HELLO) :].strip()) if line.startswith(HELLO) else None


def answer(token: bytes, client: bytes, server: bytes) -> bytes:
    """Return the server's line."""
    return server.hex().encode() + b" " + proof(token, b"server", client, server) + b"\n"


def proven(token: bytes, client: bytes, line: bytes) -> bytes | None:
    """Return the client's last line for a server that proved itself; None for one that did not."""
    nonce, _, told = line.strip().partition(b" ")
    server = _bytes(nonce)
    if server is None or not hmac.compare_digest(told, proof(token, b"server", client, server)):
        return None
    return proof(token, b"client", client, server) + b"\n"


def admits(token: bytes, client: bytes, server: bytes, line: bytes) -> bool:
    """Whether the client's last line proves it."""
    return hmac.compare_digest(line.strip(), proof(token, b"client", client, server))


def proof(token: bytes, side: bytes, client: bytes, server: bytes) -> bytes:
    """Return what only a holder of the token can say."""
    return hmac.new(token, side + b":" + client + b":" + server, hashlib.sha256).hexdigest().encode()


def _bytes(text: bytes) -> bytes | None:
    try:
        value = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        return None
    return value if len(value) == NONCE else None
