"""Bytes of a growing transcript in, its facts out: the same facts however the bytes are cut.

follower = Follower(FORMATS["claude"].row)
follower.feed(chunk)
follower.tail.turn, follower.held        # bytes of the unfinished line that are kept back
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..framing import LineFramer, clean_line
from .tail import Tail

Row = Callable[[Tail, Mapping[str, Any]], None]
"""Takes one object of a JSON-lines transcript into the facts. Never raises, whatever the object holds."""
TextRow = Callable[[Tail, str], None]
"""The same for a transcript of plain lines."""


class Follower:
    """Follows one transcript. A line over ``framing.LINE_CAP`` tells nothing, and so does one that is no object."""

    def __init__(
        self, row: Row | None, tail: Tail | None = None, *, skip: bool = False, text: TextRow | None = None
    ) -> None:
        """Begin with what is known. ``skip``: the bytes begin inside of a line, which is left out."""
        self.tail = Tail() if tail is None else tail
        self._row, self._text = row, text
        self._skip = skip
        self._framer = LineFramer()
        self._fed = self._taken = 0

    @property
    def held(self) -> int:
        """Bytes that were fed and not yet understood, because their line has not ended."""
        return self._fed - self._taken

    @property
    def skipping(self) -> bool:
        """Whether the rest of a line is still left out."""
        return self._skip

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._fed += len(data)
        cut = data.rfind(b"\n")
        if cut >= 0:
            self._taken = self._fed - (len(data) - cut - 1)
        if self._skip:
            begin = data.find(b"\n") + 1
            if not begin:
                self._taken = self._fed  # nothing of it is wanted
                return
            self._skip, data = False, data[begin:]
        for line in self._framer.split(data):
            if isinstance(line, bytes):
                self._take(line)

    def _take(self, line: bytes) -> None:
        if self._text is not None:
            self._text(self.tail, clean_line(line))
        elif self._row is not None and (value := read_object(line)) is not None:
            self._row(self.tail, value)


def read_object(data: bytes) -> Mapping[str, Any] | None:
    """Return a JSON object, or None for whatever else the bytes are."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
