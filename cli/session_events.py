"""A session's events, read from its folder: no supervisor is needed for that."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from .place import open_regular

Event = dict[str, Any]
BLOCK = 1 << 18
LINE_LIMIT = 1 << 20
POLL_S = 0.05


class Events:
    """Whole events of one file, from an offset on."""

    def __init__(self, path: str, *, at_end: bool = False) -> None:
        """``at_end``: only what comes from now on."""
        self._path = path
        self._offset = 0
        if at_end:
            try:
                self._offset = os.stat(path).st_size  # noqa: PTH116 - no pathlib here
            except OSError:
                self._offset = 0

    def more(self) -> list[Event]:
        """Return what is there and was not returned yet; half a line waits for the rest of it."""
        found: list[Event] = []
        try:
            descriptor = open_regular(self._path)
        except OSError:
            return found
        try:
            while True:
                data = _read_at(descriptor, BLOCK, self._offset)
                if data and b"\n" not in data:
                    data = _read_at(descriptor, LINE_LIMIT, self._offset)
                whole = data.rfind(b"\n") + 1
                if not whole:
                    return found
                self._offset += whole
                found += _objects(data[:whole])
        except OSError:
            return found
        finally:
            os.close(descriptor)

    def follow(self, over: Callable[[], bool], seconds: float | None = None) -> Iterator[Event]:
        """Yield events as they come until ``over`` says so, or the time is up."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            ended = over() or (deadline is not None and time.monotonic() > deadline)
            yield from self.more()
            if ended:
                return
            time.sleep(POLL_S)


def _read_at(descriptor: int, size: int, offset: int) -> bytes:
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


def _objects(data: bytes) -> list[Event]:
    found = []
    for line in data.split(b"\n"):
        if line:
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict) and isinstance(value.get("seq"), int):
                found.append(value)
    return found


def open_question(events: list[Event]) -> Event | None:
    """Return what is asked and not answered, the oldest first; None when nothing is."""
    open_: dict[str, Event] = {}
    for event in events:
        kind = event.get("type")
        if kind == "ask":
            open_[str(event.get("request"))] = event
        elif kind == "answered":
            open_.pop(str(event.get("request")), None)
        elif kind == "exited":
            open_.clear()
    return next(iter(open_.values()), None)
