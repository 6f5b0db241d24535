"""Frames: one JSON object a line, UTF-8, at most ``FRAME_LIMIT`` bytes.

A request frame is ``{"id": N, "body": COMMAND}``; every answer to it carries the same ``id``. The
encoder works on plain objects, so that the front end can use it without pydantic.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .vocabulary import FRAME_LIMIT


class FrameError(ValueError):
    """A frame that can't be read or is too large to send. The sentence names the fault."""


def encode(frame: dict[str, Any]) -> bytes:
    """Return ``frame`` as bytes, newline included.

    Raises FrameError when it is longer than the limit.
    """
    data = json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
    if len(data) > FRAME_LIMIT:
        raise FrameError(f"frame of {len(data)} bytes is over the limit of {FRAME_LIMIT}")
    return data


def decode(line: bytes) -> dict[str, Any]:
    """Return the object of one line. Raises FrameError for anything but a JSON object."""
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"frame is not JSON: {error}") from None
    if not isinstance(frame, dict):
        raise FrameError(f"frame is a JSON {type(frame).__name__}, not an object")
    return frame


class FrameReader:
    """Bytes in, frames out, however they are cut.

    ``feed`` returns whole lines; more than ``FRAME_LIMIT`` bytes without a newline raise FrameError,
    after which the connection must be closed: the rest can't be told from a new frame.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield each complete line, without its newline."""
        *whole, rest = data.split(b"\n")
        for piece in whole:
            line = b"".join([*self._parts, piece])
            self._parts.clear()
            self._held = 0
            if len(line) > FRAME_LIMIT:
                raise FrameError(f"frame of {len(line)} bytes is over the limit of {FRAME_LIMIT}")
            if line:
                yield line
        self._parts.append(rest)
        self._held += len(rest)
        if self._held > FRAME_LIMIT:
            raise FrameError(f"more than {FRAME_LIMIT} bytes without an end of frame")
