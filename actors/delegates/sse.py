"""Server-sent events, read incrementally from bytes nobody vouches for."""

from __future__ import annotations

EVENT_CAP = 1024 * 1024
"""Most bytes kept of one event. A longer one is dropped and counted."""


class SseReader:
    """Bytes in, the ``data`` of each complete event out; the same however the bytes are cut.

    Comments and other fields are ignored, bad UTF-8 is replaced, an event over the cap is dropped and
    counted in ``dropped``. Linear time, and never more than twice the cap in memory.
    """

    def __init__(self, cap: int = EVENT_CAP) -> None:
        """Keep at most ``cap`` bytes of one event."""
        self.dropped = 0
        self._cap = cap
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._overlong = False
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[str]:
        """Return the data of the events that ``chunk`` completes."""
        if not chunk:
            return []
        # CR LF is one line end even when it is cut between the two.
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r") if chunk else False
        *lines, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events: list[str] = []
        for line in lines:
            self._keep(line)
            self._end_line(events)
        self._keep(rest)
        return events

    def finish(self) -> list[str]:
        """Return the last event, if the stream ended without its blank line."""
        events: list[str] = []
        self._end_line(events)
        self._end_event(events)
        return events

    def _keep(self, part: bytes) -> None:
        if self._size + len(self._line) + len(part) > self._cap:
            self._overlong = True
        if self._overlong:
            # What stays must still tell an empty line, which ends the event, from a long one.
            self._line[:] = self._line[:1] or part[:1]
        else:
            self._line += part

    def _end_line(self, events: list[str]) -> None:
        line = bytes(self._line)
        self._line.clear()
        if not line:
            self._end_event(events)
        elif not self._overlong and line.startswith(b"data:"):
            value = line[5:].removeprefix(b" ")
            self._data.append(value)
            self._size += len(value)

    def _end_event(self, events: list[str]) -> None:
        if self._overlong:
            self.dropped += 1
        elif self._data:
            events.append(b"\n".join(self._data).decode("utf-8", "replace"))
        self._data.clear()
        self._size = 0
        self._overlong = False
