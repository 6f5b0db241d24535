"""What a local run prints: our own lines, or behind a first line that says so, those of Claude Code or Codex."""

from __future__ import annotations

import json

from ...messages.job import ExitStatus
from ...messages.lane_events import LaneEvent
from ..contract import Parser, Stream
from ..jsonl import ERR_TAIL
from ..osrc_jsonl import OsrcParser
from ..values import as_object
from ..vehicles.claude_code.events import ClaudeParser
from ..vehicles.codex_cli.events import CodexParser

HEAD_CAP = 1024
VEHICLES: dict[str, type[Parser]] = {"claude": ClaudeParser, "codex": CodexParser}


class LocalParser:
    """Chooses by the first line of stdout, and then leaves everything to the parser it chose."""

    def __init__(self) -> None:
        """Start before the first line."""
        self._head = b""
        self._err = b""
        self._chosen: Parser | None = None

    def feed(self, data: bytes, stream: Stream = Stream.OUT) -> list[LaneEvent]:
        """Return the events that ``data`` completes."""
        if self._chosen is not None:
            return self._chosen.feed(data, stream)
        if stream is Stream.ERR:
            self._err = (self._err + data[-ERR_TAIL:])[-ERR_TAIL:]
            return []
        self._head += data
        if b"\n" not in self._head and len(self._head) <= HEAD_CAP:
            return []
        return self._choose()

    def finish(self, exit_status: ExitStatus) -> list[LaneEvent]:
        """Return the events that the end of output completes."""
        events = self._choose() if self._chosen is None else []
        return [*events, *(self._chosen.finish(exit_status) if self._chosen is not None else ())]

    def _choose(self) -> list[LaneEvent]:
        line, _, rest = self._head.partition(b"\n")
        vehicle = VEHICLES.get(named(line))
        if vehicle is None:
            self._chosen, rest = OsrcParser(), self._head
        else:
            self._chosen = vehicle()
        events = self._chosen.feed(self._err, Stream.ERR)
        self._head = self._err = b""
        return [*events, *self._chosen.feed(rest)]


def named(line: bytes) -> str:
    """Return the vehicle that a first line names; empty when it names none."""
    try:
        row = as_object(json.loads(line[:HEAD_CAP]))
    except (ValueError, RecursionError):
        return ""
    vehicle = row.get("vehicle") if row.get("type") == "vehicle" else None
    return vehicle if isinstance(vehicle, str) else ""
