"""The parser of lanes that just print: the whole of stdout is the answer."""

from __future__ import annotations

from collections import deque

from ..messages.job import ExitStatus
from ..messages.lane_events import FailureKind, LaneEvent, Spoke, TurnEnded
from .contract import Stream
from .framing import LineFramer, LongLine, strip_controls
from .jsonl import ERR_TAIL
from .values import MESSAGE_CHARS, clip

ANSWER_CAP = 4 * 1024 * 1024
"""Characters of the answer that are kept, from its end: the conclusion matters most."""


class TextParser:
    """Streams stdout as pieces; the exit code says whether the turn ended well."""

    def __init__(self) -> None:
        """Start with nothing said."""
        self._out = LineFramer()
        self._parts: deque[str] = deque()
        self._kept = 0
        self._lost = 0
        self._err_tail = b""
        self._finished = False

    def feed(self, data: bytes, stream: Stream = Stream.OUT) -> list[LaneEvent]:
        """Return at most one piece: the lines that ``data`` completes."""
        if stream is Stream.ERR:
            self._err_tail = (self._err_tail + data[-ERR_TAIL:])[-ERR_TAIL:]
            return []
        raw, lost = self._out.block(data)
        return self._say(raw, lost)

    def finish(self, exit_status: ExitStatus) -> list[LaneEvent]:
        """Return the last piece and the end of the turn."""
        if self._finished:
            return []
        self._finished = True
        events: list[LaneEvent] = []
        for line in self._out.rest():
            if isinstance(line, LongLine):
                events += self._say(line.head, line.length - len(line.head))
            else:
                events += self._say(line, 0)
        answer = "".join(self._parts).strip()
        ok = exit_status.code == 0
        note = f"{self._lost} characters of its output are only in the log" if self._lost else None
        events.append(
            TurnEnded(
                ok=ok,
                text=answer or None,
                failure=FailureKind.NONE if ok else ending_kind(exit_status),
                message=note if ok else self._complaint(),
                synthetic=True,
            )
        )
        return events

    def _say(self, raw: bytes, lost: int) -> list[LaneEvent]:
        self._lost += lost
        text = _as_shown(raw.decode("utf-8", "replace"))
        if not text:
            return []
        self._parts.append(text)
        self._kept += len(text)
        while self._kept - len(self._parts[0]) >= ANSWER_CAP:
            self._kept -= len(self._parts[0])
            self._lost += len(self._parts.popleft())
        return [Spoke(text=text, partial=True)]

    def _complaint(self) -> str | None:
        text = _as_shown(self._err_tail.decode("utf-8", "replace")).strip()
        return clip(text, MESSAGE_CHARS) if text else None


def ending_kind(exit_status: ExitStatus) -> FailureKind:
    """Return what an ending without a final event is, as far as the process's end alone says."""
    if exit_status.error is not None:
        return FailureKind.LAUNCH
    signalled = exit_status.signal is not None or exit_status.lost
    if signalled or exit_status.code in SIGNAL_CODES:
        return FailureKind.INTERRUPTED
    return FailureKind.TASK


SIGNAL_CODES = frozenset({128 + 1, 128 + 2, 128 + 9, 128 + 15})
"""Exit codes of programs that turn HUP, INT, KILL and TERM into an exit (Claude Code 2.1.332: 143)."""


def _as_shown(text: str) -> str:
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return strip_controls(text)
