"""How long a connection waits at a time: a signal that the kernel did not see must not wait for a frame."""

from __future__ import annotations

import time

import pytest
from outsourcerer.cli.client import WAKE_S, Connection
from outsourcerer.cli.errors import TimeLimitError
from outsourcerer.messages.codec import FrameReader, encode


class SilentSocket:
    """Says nothing for some waits, then one frame. Keeps how long each wait might have been."""

    def __init__(self, silences: int) -> None:
        self.silences = silences
        self.waits: list[float | None] = []

    def settimeout(self, seconds: float | None) -> None:
        self.waits.append(seconds)

    def recv(self, _size: int) -> bytes:
        if len(self.waits) <= self.silences:
            raise TimeoutError
        return encode({"id": 1, "body": {"kind": "x"}})


def connection(socket: SilentSocket) -> Connection:
    made = Connection.__new__(Connection)
    made._socket = socket
    made._reader = FrameReader()
    made._lines = []
    return made


def test_a_stream_without_an_end_is_waited_for_in_short_pieces() -> None:
    socket = SilentSocket(silences=5)
    assert connection(socket)._receive(None) == {"id": 1, "body": {"kind": "x"}}
    assert len(socket.waits) == 6
    assert all(wait is not None and 0 < wait <= WAKE_S for wait in socket.waits)


def test_a_deadline_is_kept_across_the_pieces() -> None:
    socket = SilentSocket(silences=10**9)
    with pytest.raises(TimeLimitError):
        connection(socket)._receive(time.monotonic() + 0.05)
    assert all(wait is not None and wait <= 0.05 for wait in socket.waits)
