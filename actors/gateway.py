"""The socket: one thread that accepts, one per connection; frames in, replies and streams out."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import __version__
from ..messages.codec import FrameError, FrameReader, decode, encode
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import Reply
from ..messages.vocabulary import PROTOCOL
from . import loopback
from .base import Actor, log
from .dispatch import Dispatcher

BACKLOG = 128
ACCEPT_PAUSE_S = 0.05
"""Until the next try to let in whoever waits, where there was no descriptor or no thread for them."""
SEND_S = 30.0
"""A client that takes nothing for so long is dropped; it can resume."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Where clients come in."""

    socket: socket.socket
    address: str
    """A local socket's path, or a port of this machine (``messages/loopback.py``)."""
    token: bytes | None = field(default=None, repr=False)
    """What a client on a port must prove to hold."""


class Gateway(Actor):
    """Owns the listening socket's threads. Its mailbox is only asked to stop."""

    def __init__(self, *, dispatcher: Dispatcher, listener: Listener, **common: Any) -> None:  # noqa: ANN401  the base class's
        super().__init__(**common)
        self._dispatcher = dispatcher
        self._listener = listener
        self._closed = threading.Event()

    def started(self) -> None:
        """Begin to accept."""
        threading.Thread(target=self._accept, name="gateway", daemon=True).start()

    def stopping(self, reason: str) -> None:  # noqa: ARG002  the same for every reason
        """Accept nobody new. Open streams end with the feed."""
        self._closed.set()
        self.finished()

    def _accept(self) -> None:
        """Let in whoever comes. Who can't be let in for now waits in the socket's queue: nothing ends this early."""
        self._listener.socket.settimeout(None)
        troubled = False
        while not self._closed.is_set():
            try:
                connection, _ = self._listener.socket.accept()
            except OSError as error:
                if self._listener.socket.fileno() < 0:
                    return
                trouble: Exception | None = error
            else:
                trouble = None if self._let_in(connection) else RuntimeError("no thread can be started")
            if trouble is not None:
                if not troubled:
                    log.warning("nobody can be let in for now: %s", trouble)
                self._closed.wait(ACCEPT_PAUSE_S)
            troubled = trouble is not None

    def _let_in(self, connection: socket.socket) -> bool:
        """Serve one client in a thread of its own, unless it is another user's. False: there is no thread for it."""
        token = self._listener.token
        try:
            if self._closed.is_set() or (token is None and not same_user(connection)):
                connection.close()
                return True
            session = Session(self._dispatcher, connection, token)
            threading.Thread(target=session.run, name="connection", daemon=True).start()
        except OSError:
            connection.close()  # it left already
        except RuntimeError:
            connection.close()
            return False
        return True


class Session:
    """One connection."""

    def __init__(self, dispatcher: Dispatcher, connection: socket.socket, token: bytes | None = None) -> None:
        self._dispatcher = dispatcher
        self._connection = connection
        self._token = token
        self._connection.settimeout(None)

    def run(self) -> None:
        """Serve requests one after the other until the client leaves."""
        reader = FrameReader()
        try:
            with self._connection:
                if self._token is not None and not self._admitted(self._token):
                    return
                while data := self._connection.recv(262144):
                    for line in reader.feed(data):
                        self._serve(line)
        except FrameError as error:
            self._last_words(error)
        except OSError:
            pass  # the client left: what it asked for goes on
        except Exception:  # noqa: BLE001  one connection's fault is not the others'
            log.exception("a connection failed")

    def _admitted(self, token: bytes) -> bool:
        if not loopback.admit(self._connection, token):
            log.warning("refused a connection that did not prove itself")
            return False
        self._connection.settimeout(None)
        return True

    def _serve(self, line: bytes) -> None:
        frame = decode(line)
        number, body = frame.get("id"), frame.get("body")
        if not isinstance(body, dict):
            self._send(number, Refused(code=RefusalCode.BAD_REQUEST, message="a frame needs an id and a body"))
            return
        if body.get("kind") == "hello" and body.get("protocol") != PROTOCOL:
            message = f"this supervisor ({__version__}) speaks protocol {PROTOCOL}, the client {body.get('protocol')!r}"
            self._send(number, Refused(code=RefusalCode.PROTOCOL, message=message, hint="osrc supervisor restart"))
            return
        for reply in self._dispatcher.exchange(body):
            self._send(number, reply)

    def _send(self, number: object, reply: Reply) -> None:
        self._connection.settimeout(SEND_S)
        self._connection.sendall(encode({"id": number, "body": reply.model_dump(mode="json")}))
        self._connection.settimeout(None)

    def _last_words(self, error: FrameError) -> None:
        with contextlib.suppress(OSError), self._connection:
            self._send(None, Refused(code=RefusalCode.PROTOCOL, message=str(error)))


def same_user(connection: socket.socket) -> bool:
    """Whether the other side runs as our user (or root); True where the platform can't tell and the folder protects."""
    if sys.platform == "linux":
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        uid = struct.unpack("3i", data)[1]
    elif hasattr(socket, "LOCAL_PEERCRED"):
        data = connection.getsockopt(0, socket.LOCAL_PEERCRED, 76)
        uid = struct.unpack("2I", data[:8])[1]
    else:
        return True
    if uid in (os.geteuid(), 0):
        return True
    log.warning("refused a connection of user %d", uid)
    return False


def listen(path: Path) -> socket.socket:
    """Return a socket listening at ``path``, 0600, in place of a stale one. Raises OSError.

    Only for whoever holds the supervisor's lock: then nobody listens there any more.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        made.bind(os.fspath(path))
        path.chmod(0o600)
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made
