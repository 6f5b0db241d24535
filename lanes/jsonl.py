"""The common part of every parser that reads one JSON object a line.

A subclass says what reads an object of each ``type`` (``_read``; ``on_object`` where a type does not tell enough), and
how a turn ends that had no final event (``conclude``). Here are the framing, the floods and the promise that a turn
ends exactly once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..messages.job import ExitStatus
from ..messages.lane_events import ConversationStarted, LaneEvent, Spoke, ToolCalled, TurnEnded, Unrecognised
from ..messages.vocabulary import ToolKind
from .contract import Stream
from .framing import LineFramer, LongLine, clean_line
from .tool_calls import target_in
from .values import EXCERPT_CHARS, as_word, clip

_TYPE = b'"type"'
_TYPE_FIRST = b'{"type":"'
_BLANKS = b" \t\r\x0b\x0c"
# Every byte but the newline becomes an x: a line that is not blank then starts with "\n" + "x".
_SHAPE = bytes(10 if byte == 10 else 120 for byte in range(256))

_DECODER = json.JSONDecoder()
_WHITESPACE = " \t\n\r"

Readers = Mapping[str, Callable[[Mapping[str, Any], list[LaneEvent]], None]]

ERR_TAIL = 8 * 1024
"""Bytes of stderr kept to explain an ending."""


class JsonLinesParser:
    """Base of the JSON-lines parsers; implements :class:`~outsourcerer.lanes.contract.Parser`.

    Lines that mean nothing cost a few byte comparisons each and become one ``Unrecognised`` per run
    of them, so that a flood of them is one event a chunk.
    """

    types: frozenset[bytes] = frozenset()
    """Every ``type`` that ``on_object`` may know; a line that starts with another is not decoded."""

    silent: frozenset[str] = frozenset()
    """Types that are known and add nothing."""

    conversation_key: str | None = None
    """Where each line names its conversation, if lines do."""

    error_needles: tuple[bytes, ...] = ()
    """A line of stderr that holds one of these is given to ``on_error_line``."""

    def __init__(self) -> None:
        """Start at the beginning of a turn."""
        self._out = LineFramer()
        self._err = LineFramer()
        self._err_tail = b""
        self._noise = 0
        self._first_noise: bytes = b""
        self._last_noise: bytes = b""
        self._open = True
        self._finished = False
        self._unread: int | None = None
        self._conversation: str | None = None
        self._read: Readers = {}
        """Type of an object → what reads it."""

    # What a subclass says.

    def on_object(self, item: Mapping[str, Any], events: list[LaneEvent]) -> bool:
        """Append what ``item`` means; return False if it means nothing known."""
        kind = item.get("type")
        if not isinstance(kind, str):
            return False
        read = self._read.get(kind)
        if read is None:
            return kind in self.silent
        self.name_conversation(item, events)
        read(item, events)
        return True

    def on_long_line(self, line: LongLine, events: list[LaneEvent]) -> bool:  # noqa: ARG002 - a hook
        """Append what can be told of a line that is too long to decode."""
        return False

    def on_error_line(self, text: str, events: list[LaneEvent]) -> None:
        """Append what a line of stderr with one of the needles means."""

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        """Return the end of a turn whose final event never came."""
        raise NotImplementedError

    # What a subclass may use.

    def begin_turn(self) -> None:
        """Note that the delegate is at work (again): a later end is an end of its own."""
        self._open = True

    def name_conversation(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        """Append which conversation a line is of, where it is another one than the last."""
        conversation = None if self.conversation_key is None else as_word(item.get(self.conversation_key))
        if conversation and conversation != self._conversation:
            self._conversation = conversation
            events.append(ConversationStarted(conversation=conversation))

    def end_turn(self, event: TurnEnded, events: list[LaneEvent]) -> None:
        """Append ``event`` unless the turn has already ended."""
        if self._open:
            self._open = False
            events.append(event)

    @property
    def err_tail(self) -> str:
        """The end of stderr, as text."""
        return "\n".join(clean_line(line) for line in self._err_tail.split(b"\n"))

    # The contract.

    def feed(self, data: bytes, stream: Stream = Stream.OUT) -> list[LaneEvent]:
        """Return the events that ``data`` completes."""
        events: list[LaneEvent] = []
        if stream is Stream.ERR:
            self._err_tail = (self._err_tail + data[-ERR_TAIL:])[-ERR_TAIL:]
            if self.error_needles:
                self._error_lines(self._err.split(data), events)
            return events
        if _TYPE not in data:
            data = self._bulk(data, events)
        self._lines(self._out.split(data), events)
        self._flush_noise(events)
        return events

    def finish(self, exit_status: ExitStatus) -> list[LaneEvent]:
        """Return the events that the end of output completes."""
        events: list[LaneEvent] = []
        if self._finished:
            return events
        self._finished = True
        self._lines(self._out.rest(), events)
        self._flush_noise(events)
        self._error_lines(self._err.rest(), events)
        if self._open:
            self.end_turn(self.conclude(exit_status).model_copy(update={"unread": self._unread}), events)
        return events

    def _bulk(self, data: bytes, events: list[LaneEvent]) -> bytes:
        """Count the whole lines of a chunk that holds no object at all; return what is left of it."""
        if not self._out.idle:
            start = data.find(b"\n") + 1
            if not start:
                return data
            self._lines(self._out.split(data[:start]), events)
            data = data[start:]
        end = data.rfind(b"\n") + 1
        whole = data[:end]
        shape = b"\n" + whole.translate(_SHAPE, _BLANKS)
        if (count := shape.count(b"\nx")) > 0:
            if not self._noise:
                self._first_noise = whole.lstrip(b"\n" + _BLANKS)[: 4 * EXCERPT_CHARS].partition(b"\n")[0]
            self._noise += count
        return data[end:]

    def _lines(self, lines: Iterable[bytes | LongLine], events: list[LaneEvent]) -> None:
        for raw in lines:
            if raw == self._last_noise and raw:  # the cheapest test first: floods repeat themselves
                if not self._noise:
                    self._first_noise = self._last_noise
                self._noise += 1
            elif isinstance(raw, LongLine):
                self._long_line(raw, events)
            elif _TYPE not in raw:
                if raw.strip(_BLANKS):
                    self._note_noise(raw)
            elif not self._meant(raw, events):
                self._note_noise(raw)

    def _meant(self, raw: bytes, events: list[LaneEvent]) -> bool:
        if raw.startswith(_TYPE_FIRST) and self._foreign(raw):
            return False
        item = _decode(raw)
        return item is not None and self._known(item, events)

    def _foreign(self, raw: bytes) -> bool:
        """Whether a line's ``type`` comes first and is none of ours. One with an escape in it is decoded."""
        kind = raw[len(_TYPE_FIRST) : len(_TYPE_FIRST) + 64].partition(b'"')[0]
        return kind not in self.types and b"\\" not in kind

    def _known(self, item: Mapping[str, Any], events: list[LaneEvent]) -> bool:
        found: list[LaneEvent] = []
        if not self.on_object(item, found):
            return False
        if found:
            self._flush_noise(events)
            events.extend(found)
        self._unread = None
        return True

    def _long_line(self, line: LongLine, events: list[LaneEvent]) -> None:
        found: list[LaneEvent] = []
        if self.on_long_line(line, found):
            self._flush_noise(events)
            events.extend(found)
            self._unread = None
        else:
            if _TYPE in line.head or _TYPE in line.tail:
                self._unread = line.length
            self._note_noise(line.head[:EXCERPT_CHARS])
            self._last_noise = b""

    def _error_lines(self, lines: Iterable[bytes | LongLine], events: list[LaneEvent]) -> None:
        for raw in lines:
            line = raw if isinstance(raw, bytes) else raw.head
            if any(needle in line for needle in self.error_needles):
                self.on_error_line(clean_line(line), events)

    def _note_noise(self, raw: bytes) -> None:
        if not self._noise:
            self._first_noise = raw
        self._noise += 1
        self._last_noise = raw

    def _flush_noise(self, events: list[LaneEvent]) -> None:
        if self._noise:
            excerpt = clip(clean_line(self._first_noise[: 4 * EXCERPT_CHARS]).strip(), EXCERPT_CHARS)
            events.append(Unrecognised(excerpt=excerpt, count=self._noise))
            self._noise = 0


def _decode(raw: bytes) -> Mapping[str, Any] | None:
    """Return the JSON object of a line, past any terminal noise before or in it."""
    text = raw.decode("utf-8", "replace")
    if not text.startswith("{"):
        text = clean_line(raw).lstrip("\ufeff \t")
        if not text.startswith("{"):
            return None
    item = _loads(text)
    if item is None and not text.isprintable():
        item = _loads(clean_line(raw).lstrip("\ufeff \t"))
    return item


def _loads(text: str) -> Mapping[str, Any] | None:
    try:
        item, end = _DECODER.raw_decode(text)  # json.loads looks for blanks twice first, on every line
    except (ValueError, RecursionError):
        return None
    if end != len(text) and text[end:].strip(_WHITESPACE):
        return None
    return item if isinstance(item, dict) else None


def tool_called(name: str, arguments: object, tools: Mapping[str, ToolKind], keys: Sequence[str]) -> ToolCalled:
    """Return the event of a tool's call; ``tools`` and ``keys`` are a CLI's own words for tools and arguments."""
    return ToolCalled(tool=tools.get(name, ToolKind.OTHER), name=name, target=target_in(arguments, keys))


def coalesce(events: Iterable[LaneEvent]) -> list[LaneEvent]:
    """Join neighbouring pieces: partial words, and counts of unrecognised lines.

    Two feeds of the same bytes give the same coalesced events, however the bytes were cut.
    """
    joined: list[LaneEvent] = []
    for event in events:
        last = joined[-1] if joined else None
        if isinstance(event, Spoke) and isinstance(last, Spoke) and event.partial and last.partial:
            joined[-1] = Spoke(text=last.text + event.text, partial=True)
        elif isinstance(event, Unrecognised) and isinstance(last, Unrecognised):
            joined[-1] = Unrecognised(excerpt=last.excerpt, count=last.count + event.count)
        else:
            joined.append(event)
    return joined
