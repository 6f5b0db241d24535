"""An agent's stdin and stdout as a stream of JSON-RPC messages, whatever else it prints there."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any

from ...lanes.framing import LineFramer, LongLine, clean_line
from ...lanes.values import EXCERPT_CHARS, clip

MESSAGE_CAP = 16 * 1024 * 1024
"""Longest message in bytes: an edit may come with both whole texts of a file."""

_HEAD = 4096
_READ = 1 << 16


class AgentPipe:
    """Implements the library's message-level ``Transport`` over a child's pipes.

    Lines that are no message are counted and left out. A message over the cap is left out too, if it is
    only news; if it may be an answer that somebody waits for, the stream ends there.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read ``reader`` (the agent's stdout), write ``writer`` (its stdin)."""
        self.noise: str | None = None
        """The first line that was no message."""
        self.overlong = 0
        """Length of the message that ended the stream; 0 when none did."""
        self._reader, self._writer = reader, writer
        self._lines = LineFramer(MESSAGE_CAP)
        self._waiting: deque[dict[str, Any]] = deque()
        self._sending = asyncio.Lock()

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message; raises ConnectionError when the agent reads no more."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        async with self._sending:
            self._writer.write(data)
            await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, or None at the end."""
        while not self._waiting and not self.overlong:
            chunk = await self._reader.read(_READ)
            for line in self._lines.split(chunk) if chunk else self._lines.rest():
                self._take(line)
            if not chunk:
                break
        return self._waiting.popleft() if self._waiting else None

    async def close(self) -> None:
        """Close the agent's stdin."""
        self._writer.close()

    def _take(self, line: bytes | LongLine) -> None:
        if isinstance(line, LongLine):
            if b'"session/update"' not in line.head[:_HEAD]:
                self.overlong = line.length
            return
        message = sane(line)
        if message is not None:
            self._waiting.append(message)
        elif self.noise is None and line.strip():
            self.noise = clip(clean_line(line[: 4 * EXCERPT_CHARS]).strip(), EXCERPT_CHARS)


def sane(line: bytes) -> dict[str, Any] | None:
    """Return a line as a JSON-RPC message of a shape that the library takes, or None."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
        return None
    if not isinstance(message.get("id"), int | str | None):
        return None
    error = message.get("error")
    if error is not None and not isinstance(error, dict):
        message["error"] = {"code": -32603, "message": str(error)[:EXCERPT_CHARS]}
    elif isinstance(error, dict):
        said, code = error.get("message"), error.get("code")
        message["error"] = {
            "code": code if isinstance(code, int) else -32603,
            "message": said if isinstance(said, str) else "Error",
            "data": error.get("data"),
        }
    return message
