"""Writing OSRC JSON lines: the one output format of our own delegate programs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

PIECE_CHARS = 16_384
"""Longest piece of text in one line. Even if every character needs a six-byte escape, the line stays
well under the 256 KiB that parsers keep of one."""

END_TEXT_BYTES = 131_072
"""Longest final text that the end line repeats; a longer one exists only in its pieces."""


class Emitter:
    """Writes events to a descriptor, a line each, unbuffered: what was printed survives a kill."""

    def __init__(self, descriptor: int = 1) -> None:
        """Write to ``descriptor``; stdout, unless a caller has moved it out of a native library's way."""
        self._descriptor = descriptor

    def start(self, model: str) -> None:
        """Say which model answers."""
        self._write({"type": "start", "model": model})

    def text(self, piece: str) -> None:
        """Pass on a piece of the answer, however long."""
        for start in range(0, len(piece), PIECE_CHARS):
            self._write({"type": "text", "text": piece[start : start + PIECE_CHARS], "partial": True})

    def thought(self, chars: int) -> None:
        """Tell that the model reasoned, not what."""
        self._write({"type": "thought", "chars": chars})

    def usage(self, usage: dict[str, int]) -> None:
        """Report tokens; a count that the server did not give is left out."""
        self._write({"type": "usage", **usage})

    def end_well(self, text: str) -> None:
        """Write the final event of a good turn."""
        event: dict[str, Any] = {"type": "end", "ok": True}
        if len(text) <= END_TEXT_BYTES and len(json.dumps(text)) <= END_TEXT_BYTES:
            event["text"] = text
        self._write(event)

    def end_badly(self, failure: str, message: str, *, until: float | None = None) -> None:
        """Write the final event of a failed turn. ``failure`` is a ``FailureKind`` word."""
        event: dict[str, Any] = {"type": "end", "ok": False, "failure": failure, "message": message[:2000]}
        if until is not None:
            event["until"] = until
        self._write(event)

    def emit(self, event: dict[str, Any]) -> None:
        """Write one event of the protocol. A text that is too long for a line goes out in pieces, or not again."""
        text = event.get("text")
        if isinstance(text, str) and event.get("partial") is True:
            self.text(text)
        elif isinstance(text, str) and len(json.dumps(text)) > END_TEXT_BYTES:
            if event["type"] != "text":  # a whole message was in its pieces
                self._write({name: value for name, value in event.items() if name != "text"})
        else:
            self._write({name: value for name, value in event.items() if value is not None})

    def emit_all(self, events: Iterable[dict[str, Any]]) -> None:
        """Write several."""
        for event in events:
            self.emit(event)

    def _write(self, event: dict[str, Any]) -> None:
        # A server may send lone surrogates as JSON escapes: they have no UTF-8 form.
        line = json.dumps(event, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        view = memoryview(line)
        while view:
            view = view[os.write(self._descriptor, view) :]
