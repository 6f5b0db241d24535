"""The end of a file, however large, and what is added to it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from .place import open_regular

BLOCK = 64 * 1024
TAIL_LIMIT = 8 * 1024 * 1024
"""Most bytes that are read from the end: a delegate's single line can be larger than memory."""

_POLL_S = 0.2


def tail(path: str, lines: int) -> tuple[bytes, int]:
    """Return the last ``lines`` lines of a file, and the offset where they end. Raises OSError.

    Reads from the end in blocks, at most ``TAIL_LIMIT`` bytes, whatever the file's size.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        end = file.seek(0, os.SEEK_END)
        if lines <= 0:
            return b"", end
        parts: list[bytes] = []
        newlines = held = 0
        position = end
        # One more newline than lines: the last line's own, where it has one.
        while position > 0 and newlines <= lines and held < TAIL_LIMIT:
            size = min(BLOCK, position)
            position -= size
            file.seek(position)
            part = file.read(size)
            parts.append(part)
            newlines += part.count(b"\n")
            held += len(part)
    data = b"".join(reversed(parts))
    return _last_lines(data, lines), end


def _last_lines(data: bytes, lines: int) -> bytes:
    position = len(data) - 1 if data.endswith(b"\n") else len(data)
    for _ in range(lines):
        position = data.rfind(b"\n", 0, position)
        if position < 0:
            return data
    return data[position + 1 :]


def added(path: str, offset: int, ended: Callable[[], bool]) -> Iterator[bytes]:
    """Yield what is added to a file after ``offset`` until ``ended`` says so and all was read.

    A file that shrank is read from its start; one that is missing may still come.
    """
    while True:
        over = ended()  # asked before reading: what was written before the end is not missed
        try:
            with os.fdopen(open_regular(path), "rb") as file:
                if os.fstat(file.fileno()).st_size < offset:
                    offset = 0
                file.seek(offset)
                while part := file.read(BLOCK):
                    offset += len(part)
                    yield part
        except FileNotFoundError:
            pass
        if over:
            return
        time.sleep(_POLL_S)
