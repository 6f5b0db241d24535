"""Bytes in, lines out, however the bytes are cut.

    framer = LineFramer()
    for line in framer.split(chunk): ...      # bytes of one line, or LongLine
    for line in framer.rest(): ...            # what stood after the last newline

Linear in time, and never more than ``LINE_CAP`` bytes of a line are held: one 53 MB line given to a
JSON decoder stops every thread of the process for a third of a second. Newlines are found before
decoding, which is safe in UTF-8, so a character may be cut anywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LINE_CAP = 1024 * 1024
"""Longest line that is kept whole. A delegate's final event carries its whole answer, up to half a
megabyte for the longest answers of today's models; a line of 1 MiB decodes in about 7 ms."""

TAIL = 16 * 1024
"""How much of the end of a longer line is kept."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Possessive repeats: no failed match is ever tried again, so the scan is linear.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*+[0-~]?"  # the two-byte rest
)


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line over the cap: its first ``cap`` bytes, its last ``TAIL`` bytes, its whole length."""

    head: bytes
    tail: bytes
    length: int

    @property
    def text(self) -> str:
        """The head, decoded and cleaned."""
        return clean_line(self.head)


class LineFramer:
    """Cuts a stream into lines without their newline."""

    def __init__(self, cap: int = LINE_CAP) -> None:
        """Keep lines of up to ``cap`` bytes whole."""
        self._cap = cap
        self._buffer = bytearray()
        self._tail = bytearray()
        self._length = 0

    def split(self, data: bytes) -> list[bytes | LongLine]:
        """Return the raw lines that ``data`` completes."""
        pieces = data.split(b"\n")
        rest = pieces.pop()
        if not pieces:
            self._hold(rest)
            return []
        lines: list[bytes | LongLine] = list(pieces)
        if self._length:
            self._hold(pieces[0])
            lines[0] = self._take()
        if len(data) > self._cap:
            lines = [self._bounded(line) if isinstance(line, bytes) else line for line in lines]
        self._hold(rest)
        return lines

    def block(self, data: bytes) -> tuple[bytes, int]:
        """Return the lines that ``data`` completes as one piece, and the bytes left out of long lines.

        For readers that need no single lines: a million short ones cost no more than one long one.
        """
        if not self._length and len(data) <= self._cap:
            cut = data.rfind(b"\n") + 1
            self._hold(data[cut:])
            return data[:cut], 0
        lines = self.split(data)
        lost = sum(line.length - len(line.head) for line in lines if isinstance(line, LongLine))
        return b"".join((line if isinstance(line, bytes) else line.head) + b"\n" for line in lines), lost

    @property
    def idle(self) -> bool:
        """Whether nothing of a line is held."""
        return not self._length

    def rest(self) -> list[bytes | LongLine]:
        """Return the last line if it had no newline; nothing is held afterwards."""
        return [self._take()] if self._length else []

    def feed(self, data: bytes) -> list[str | LongLine]:
        """Return the lines that ``data`` completes, decoded and cleaned."""
        return [clean_line(line) if isinstance(line, bytes) else line for line in self.split(data)]

    def finish(self) -> list[str | LongLine]:
        """Return the unfinished last line, decoded and cleaned."""
        return [clean_line(line) if isinstance(line, bytes) else line for line in self.rest()]

    def _bounded(self, line: bytes) -> bytes | LongLine:
        if len(line) <= self._cap:
            return line
        return LongLine(line[: self._cap], line[-TAIL:], len(line))

    def _hold(self, piece: bytes) -> None:
        self._length += len(piece)
        room = self._cap - len(self._buffer)
        if len(piece) <= room and not self._tail:
            self._buffer += piece
            return
        if not self._tail:  # the line crosses the cap here
            self._tail += self._buffer[-TAIL:]
            self._buffer += piece[:room]
        self._tail += piece[-TAIL:]
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]

    def _take(self) -> bytes | LongLine:
        head, tail, length = bytes(self._buffer), bytes(self._tail[-TAIL:]), self._length
        self._buffer.clear()
        self._tail.clear()
        self._length = 0
        return LongLine(head, tail, length) if length > self._cap else head


def strip_controls(text: str) -> str:
    """Return ``text`` without terminal control sequences and characters; tabs and newlines stay."""
    if _CONTROL.search(text) is None:
        return text
    return _CONTROL.sub("", _ESCAPE.sub("", text))


def clean_line(raw: bytes) -> str:
    """Return one line as text: what a terminal would show after its carriage returns."""
    text = raw.decode("utf-8", "replace")
    if "\r" in text:
        text = text.rstrip("\r").rpartition("\r")[2]
    return strip_controls(text)
