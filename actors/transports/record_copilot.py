"""Copilot CLI's own record of a conversation whose id was chosen for it, or is resumed (seen: 1.0.102)."""

from __future__ import annotations

import os
from typing import Any

from .records import Record, squeezed, words_of

_STOPS = frozenset({"abort", "session.error", "session.shutdown"})


class CopilotRecord(Record):
    """``session-state/ID/events.jsonl``. Its screen says whether it works: not all that ends a turn is written down."""

    def __init__(self, home: str, conversation: str) -> None:
        """Nothing was read yet."""
        super().__init__()
        self._session = conversation
        self._path = os.path.join(home, "session-state", conversation, "events.jsonl")

    def _transcript(self) -> str | None:
        return self._path

    def _take(self, entry: dict[str, Any]) -> None:
        data = entry.get("data")
        kind = entry.get("type")
        if not isinstance(data, dict) or data.get("parentToolCallId") is not None:
            return
        if kind == "user.message":
            self._asked(squeezed(words_of(data.get("content"))))
        elif kind == "assistant.message":
            text = words_of(data.get("content"))
            self._answered(data.get("model"), text, last=not data.get("toolRequests"))
        elif kind in _STOPS:
            self._over = True
