"""Which of the two programs is speaking: told by the first bytes of its output.

A parser is made again from the job's record alone when a supervisor takes over, so what runs is read
from what it prints: Gemini CLI starts with a line of a fixed form, anything else is text of ``agy``.
"""

from __future__ import annotations

from ...messages.job import ExitStatus
from ...messages.lane_events import LaneEvent
from ..contract import Parser, Stream
from ..jsonl import ERR_TAIL
from .agy import AgyParser
from .events import GeminiCliParser

STARTS = tuple(
    b'{"type":"' + kind + b'","timestamp":"'
    for kind in (b"init", b"message", b"tool_use", b"tool_result", b"error", b"result")
)
"""How a line of Gemini CLI's stream-json begins (0.61.0)."""

_BLANKS = b" \t\r\n\x0b\x0c"


class GeminiParser:
    """Implements :class:`~outsourcerer.lanes.contract.Parser` by the parser of the program that speaks."""

    def __init__(self) -> None:
        """Start before the first byte."""
        self._chosen: Parser | None = None
        self._head = b""
        self._err = b""

    def feed(self, data: bytes, stream: Stream = Stream.OUT) -> list[LaneEvent]:
        """Return the events that ``data`` completes."""
        if self._chosen is not None:
            return self._chosen.feed(data, stream)
        if stream is Stream.ERR:
            self._err = (self._err + data)[-8 * ERR_TAIL :]
            return []
        self._head = (self._head + data).lstrip(_BLANKS)
        if not self._head or any(start.startswith(self._head) for start in STARTS):
            return []
        return self._choose(GeminiCliParser() if self._head.startswith(STARTS) else AgyParser())

    def finish(self, exit_status: ExitStatus) -> list[LaneEvent]:
        """Return the events that the end of output completes. No output at all is Gemini CLI's way to fail."""
        events: list[LaneEvent] = []
        if self._chosen is None:
            events = self._choose(AgyParser() if self._head else GeminiCliParser())
        return events + (self._chosen.finish(exit_status) if self._chosen is not None else [])

    def _choose(self, parser: Parser) -> list[LaneEvent]:
        self._chosen = parser
        events = parser.feed(self._err, Stream.ERR) if self._err else []
        events = events + (parser.feed(self._head) if self._head else [])
        self._head = self._err = b""
        return events
