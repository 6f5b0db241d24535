"""Following transcripts from where they were last read: the beginning once, the end, then only what is new.

However large a file is, a look at it reads a bounded part: ``HEAD`` for whose it is, and of its end as much as tells
something, up to ``MOST``. What was understood is kept, so that nothing is read again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..lanes.transcripts.follow import Follower
from ..lanes.transcripts.formats import Format
from ..lanes.transcripts.tail import Tail, packed, unpacked
from ..state.files import open_regular
from .fleet_stores import read_at
from .redaction import clean

HEAD, END, MOST = 64 * 1024, 32 * 1024, 1024 * 1024
"""Bytes of the beginning at most, of the end at first, and of the end at most."""
_PIECE = 8 * 1024
GROWN = 4 * 1024 * 1024
"""More than that at once is not followed: its end is read as of a new file."""
_KEPT = ("session_id", "cwd", "branch", "model", "version", "title", "first_user", "pid")


class TailFile:
    """One transcript, followed."""

    def __init__(self, form: Format, path: str) -> None:
        """Nothing is read yet."""
        self.form, self.path = form, path
        self.seen: os.stat_result | None = None
        self._mark = (-1, -1, -1)
        self._offset = 0
        self._follower = self._new()

    @property
    def tail(self) -> Tail:
        """What is known of it."""
        return self._follower.tail

    def look(self, seen: os.stat_result) -> bool:
        """Read what is new. ``seen`` is how the file is now. Returns whether there was anything."""
        self.seen = seen
        mark = (seen.st_ino, seen.st_size, seen.st_mtime_ns)
        if mark == self._mark:
            return False
        try:
            descriptor = open_regular(self.path)
        except OSError:
            return False  # gone, or none of ours to read: what was known stays
        try:
            self._read(descriptor, os.fstat(descriptor))
        except OSError:
            return False
        finally:
            os.close(descriptor)
        self._mark = mark
        return True

    def _read(self, descriptor: int, now: os.stat_result) -> None:
        size = now.st_size
        if now.st_ino != self._mark[0] or size < self._offset:
            self._offset, self._follower = 0, self._new()
            if size > HEAD + END:
                self._begin(descriptor)
                self._jump(descriptor, size)
                return
        if size - self._offset > GROWN:
            self._jump(descriptor, size)
            return
        self._on(descriptor, size)

    def _begin(self, descriptor: int) -> None:
        """Read as much of the beginning as tells whose it is."""
        for offset in range(0, HEAD, _PIECE):
            self._follower.feed(read_at(descriptor, _PIECE, offset))
            if self.tail.first_user is not None and self.tail.cwd is not None:
                return

    def _jump(self, descriptor: int, size: int) -> None:
        """Read the end alone; whose it is stays known."""
        known = {name: getattr(self.tail, name) for name in _KEPT}
        length = END
        while True:
            self._offset = max(0, size - length)
            self._follower = self._new(Tail(**known), skip=self._offset > 0)
            self._on(descriptor, size)
            if self.tail.turn is not None or length >= min(MOST, size):
                return
            length *= 4

    def _on(self, descriptor: int, size: int) -> None:
        """Read from where we are to ``size``."""
        while self._offset < size:
            data = read_at(descriptor, min(256 * 1024, size - self._offset), self._offset)
            if not data:
                return
            self._offset += len(data)
            self._follower.feed(data)

    def _new(self, tail: Tail | None = None, *, skip: bool = False) -> Follower:
        return Follower(self.form.row, tail, skip=skip, text=self.form.text)

    def remembered(self) -> dict[str, Any]:
        """Return what lets another process go on from here. Nobody's words are in it but a redacted subject."""
        told = packed(self.tail, texts=False)
        for name in ("title", "error", "asked"):
            told[name] = clean(told[name]) if told[name] else None
        told["first_user"] = clean(self.tail.first_user)[:120] if self.tail.first_user else None
        skipping = self._follower.skipping
        return {"mark": list(self._mark), "at": self._offset - self._follower.held, "skip": skipping, "tail": told}

    def recall(self, value: Mapping[str, Any]) -> None:
        """Go on from what ``remembered`` gave. Anything else is as if nothing had been remembered."""
        try:
            mark, at = tuple(map(int, value["mark"])), int(value["at"])
            tail = unpacked(value["tail"])
        except (KeyError, TypeError, ValueError, AttributeError):
            return
        if len(mark) != 3 or not 0 <= at <= mark[1]:
            return
        self._mark, self._offset = (mark[0], mark[1], mark[2]), at
        self._follower = self._new(tail, skip=bool(value.get("skip")))


def read_once(form: Format, path: str) -> Tail | None:
    """Return what one look at a transcript tells, texts included; None where it can't be read."""
    followed = TailFile(form, path)
    try:
        seen = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - a string, as everywhere here
    except OSError:
        return None
    return followed.tail if followed.look(seen) else None
