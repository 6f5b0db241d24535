"""One connection to a supervisor: frames over its socket, replies as plain objects.

``_socket`` is what ``socket`` wraps; the wrapper turns 200 constants into enums at import, which
costs a tenth of a warm command.
"""

from __future__ import annotations

import _socket
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from .. import __version__
from ..messages.codec import FrameError, FrameReader, decode, encode
from ..messages.vocabulary import PROTOCOL
from .errors import CliError, NotSentError, SupervisorLostError, TimeLimitError

REPLY_S = 30.0
"""Longest wait for a reply that is not a stream. A supervisor that needs longer is stuck, not slow."""

HELLO_S = 30.0
"""Longest wait for the handshake; a stopped process accepts connections and says nothing."""

STOPPED_S = 1.0
"""After so long without an answer it is asked whether the process is stopped at all."""

WAKE_S = 1.0
"""Longest single wait in the kernel. A signal that comes between Python's look for signals and the system call
does not interrupt the call: without a bound, that Ctrl-C would wait for the next frame, maybe for ever."""

Body = dict[str, Any]


class NoConnectionError(Exception):
    """Nobody can be reached at the socket. ``forbidden``: this process may not use it at all."""

    def __init__(self, reason: str, *, forbidden: bool = False) -> None:
        """Keep both."""
        super().__init__(reason)
        self.forbidden = forbidden


class ProtocolMismatchError(Exception):
    """Somebody answered, in another protocol. ``theirs`` is its number, or None when it did not say."""

    def __init__(self, theirs: int | None) -> None:
        """Keep the number."""
        super().__init__(f"protocol {theirs}")
        self.theirs = theirs


class Connection:
    """A connection after its handshake."""

    def __init__(self, path: str) -> None:
        """Connect and shake hands. Raises NoConnectionError, ProtocolMismatchError or CliError (not ours)."""
        self._socket = _connect(path)
        self._reader = FrameReader()
        self._lines: list[bytes] = []
        self._next = 1
        self._pid = 0
        """The process that listens, where the platform tells."""
        try:
            self._check_peer(path)
            self.version, self.protocol = self._shake_hands()
        except BaseException:
            self._socket.close()
            raise

    def exchange(self, body: Body, *, deadline: float | None = None) -> Iterator[Body]:
        """Yield each reply to ``body``: one, or, of a ``follow.*`` command, all up to its end.

        ``deadline`` is monotonic seconds. Raises SupervisorLostError, and TimeLimitError past it.
        """
        number = self._next
        self._next += 1
        self._send({"id": number, "body": body})
        stream = str(body.get("kind")).startswith("follow.")
        while True:
            frame = self._receive(deadline) if stream or deadline is not None else self._answer(REPLY_S)
            reply = frame.get("body")
            if not isinstance(reply, dict) or frame.get("id") not in (number, None):
                continue  # what an earlier, abandoned stream still had to say
            yield reply
            if not stream or reply.get("kind") in ("stream_ended", "refused"):
                return

    @property
    def pid(self) -> int:
        """The process that listens; 0 where the platform does not tell."""
        return self._pid

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _shake_hands(self) -> tuple[str, int]:
        try:
            self._send({"id": 0, "body": {"kind": "hello", "protocol": PROTOCOL, "version": __version__}})
            reply = self._answer(HELLO_S).get("body")
        except SupervisorLostError:
            raise NoConnectionError("the supervisor closed the connection during the handshake") from None
        if not isinstance(reply, dict) or reply.get("kind") not in ("hello", "refused"):
            raise ProtocolMismatchError(None)
        if reply["kind"] == "refused":
            if reply.get("code") == "protocol":
                raise ProtocolMismatchError(None)
            raise NoConnectionError(str(reply.get("message", "the supervisor refused the connection")))
        theirs = reply.get("protocol")
        if theirs != PROTOCOL:
            raise ProtocolMismatchError(theirs if isinstance(theirs, int) else None)
        return str(reply.get("version", "")), PROTOCOL

    def _answer(self, limit_s: float) -> Body:
        """Return the next frame. Raises CliError when none comes within ``limit_s``, or ever will."""
        began = time.monotonic()
        try:
            return self._receive(began + STOPPED_S)
        except TimeLimitError:
            if self._pid and _is_stopped(self._pid):
                raise stopped(self._pid) from None
        try:
            return self._receive(began + limit_s)
        except TimeLimitError:
            raise CliError(
                "supervisor_busy", f"the supervisor did not answer within {limit_s:.0f} s", "osrc supervisor restart"
            ) from None

    def _check_peer(self, path: str) -> None:
        """Refuse a socket that another user listens on (Linux tells; elsewhere the private folder has to do)."""
        if path.startswith("tcp:"):
            return  # the handshake has proved it
        option = getattr(_socket, "SO_PEERCRED", None)
        if option is None or not sys.platform.startswith("linux"):
            return
        credentials = self._socket.getsockopt(_socket.SOL_SOCKET, option, 12)
        self._pid = int.from_bytes(credentials[:4], sys.byteorder)
        uid = int.from_bytes(credentials[4:8], sys.byteorder)
        if uid not in (os.geteuid(), 0):
            raise CliError("supervisor_unavailable", f"the socket {path} belongs to another user (uid {uid})")

    def _send(self, frame: Body) -> None:
        try:
            data = encode(frame)
        except FrameError as error:
            raise CliError("bad_request", str(error)) from None
        try:
            self._socket.settimeout(REPLY_S)
            self._socket.sendall(data)
        except OSError as error:  # not sent whole, so that nobody can have read it as a request
            raise NotSentError(f"the supervisor went away ({error.strerror or error})") from None

    def _receive(self, deadline: float | None) -> Body:
        while not self._lines:
            left = WAKE_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise TimeLimitError
            self._socket.settimeout(min(left, WAKE_S))
            try:
                data = self._socket.recv(262144)
            except TimeoutError:
                continue
            except OSError as error:
                raise SupervisorLostError(f"the supervisor went away ({error.strerror or error})") from None
            if not data:
                raise SupervisorLostError("the supervisor closed the connection")
            try:
                self._lines.extend(self._reader.feed(data))
            except FrameError as error:
                raise SupervisorLostError(f"the supervisor sent what is no frame: {error}") from None
        try:
            return decode(self._lines.pop(0))
        except FrameError as error:
            raise SupervisorLostError(f"the supervisor sent what is no frame: {error}") from None


def stopped(pid: int) -> CliError:
    """Return what is said of a supervisor that was stopped by a signal."""
    return CliError(
        "supervisor_busy",
        f"the supervisor (pid {pid}) is stopped (SIGSTOP, or a debugger): it can neither answer nor leave",
        f"kill -CONT {pid} lets it go on",
    )


def _is_stopped(pid: int) -> bool:
    from ..state.processes import read_process  # noqa: PLC0415 - only for one that is silent

    row = read_process(pid)
    return row is not None and row.state in ("T", "t")


def _connect(path: str) -> _socket.socket:
    if path.startswith("tcp:"):
        return _connect_to_port(path)
    family = getattr(_socket, "AF_UNIX", None)
    if family is None:
        raise NoConnectionError("this platform has no local sockets", forbidden=True)
    try:
        made = _socket.socket(family, _socket.SOCK_STREAM)
    except OSError as error:
        raise NoConnectionError(f"no socket can be made: {error.strerror}", forbidden=True) from None
    try:
        made.settimeout(HELLO_S)
        made.connect(path)
    except (OSError, ValueError) as error:
        made.close()
        forbidden = isinstance(error, PermissionError)
        raise NoConnectionError(f"{path}: {getattr(error, 'strerror', None) or error}", forbidden=forbidden) from None
    return made


def _connect_to_port(address: str) -> _socket.socket:
    from ..messages.loopback import parse  # noqa: PLC0415 - only where there are no local sockets
    from .loopback import connect  # noqa: PLC0415 - as above

    found = parse(address)
    if found is None:
        raise NoConnectionError(f"{address} is no address of a supervisor")
    try:
        return connect(*found)
    except (OSError, ValueError) as error:
        raise NoConnectionError(f"port {found[0]}: {getattr(error, 'strerror', None) or error}") from None
