"""What a holder writes: numbered, dated events, appended whole, and hints to the supervisor. Standard library only."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections import deque
from typing import Any

from ..state.flags import CLOEXEC, NOFOLLOW, NONBLOCK

EVENTS = "events.jsonl"
PIECE_CHARS = 16_384
"""Longest text in one event; a longer one comes in pieces."""
HELD = 10_000
"""Most events that are kept in memory while the disk takes none."""
TAIL = 1 << 20
OVER = frozenset({"done", "refused", "failed", "turn-started", "unverified"})
"""The deliveries that are the last of an entry."""
LEFT_US = frozenset({"written", "seen"})
"""Those after which it can't be said that nothing reached the program."""
QUEUED = frozenset({"send", "model", "effort", "mode"})
"""What is given one at a time, to a program that is idle; everything else at once."""
ENDED_FIRST = "the session ended first"


class EventLog:
    """``events.jsonl``, appended to. Never raises: a full disk must not end a session."""

    def __init__(self, folder: str) -> None:
        """Go on after the last event that is there."""
        self._path = os.path.join(folder, EVENTS)
        self._waiting: deque[bytes] = deque(maxlen=HELD)
        self.seq = last_seq(self._path)
        self._torn = torn(self._path)

    def append(self, event: dict[str, Any]) -> None:
        """Write one event, in pieces if its text is long."""
        text = event.get("text")
        if event.get("type") != "text" or not isinstance(text, str) or len(text) <= PIECE_CHARS:
            self._one(event)
            return
        for start in range(0, len(text), PIECE_CHARS):
            self._one({**event, "text": text[start : start + PIECE_CHARS], "partial": True})

    def flush(self) -> bool:
        """Try to write what waits; whether nothing waits any more."""
        while self._waiting:
            data = self._waiting[0]
            try:
                descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | NOFOLLOW | CLOEXEC, 0o600)
                try:
                    self._write(descriptor, data)
                finally:
                    os.close(descriptor)
            except OSError:
                return False
            self._waiting.popleft()
        return True

    def _one(self, event: dict[str, Any]) -> None:
        self.seq += 1
        line = {"seq": self.seq, "at": round(time.time(), 3), **event}
        self._waiting.append(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        self.flush()

    def _write(self, descriptor: int, data: bytes) -> None:
        """Append one line; half a line, left by a full disk or a kill, is closed first."""
        if self._torn:
            data = b"\n" + data
        taken = os.write(descriptor, data)
        self._torn = taken < len(data)
        if self._torn:
            raise OSError("the disk is full")


def last_seq(path: str) -> int:
    """Return the number of the last whole event, 0 without any."""
    for line in reversed(_tail(path).split(b"\n")):
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
            return int(json.loads(line)["seq"])
    return 0


def torn(path: str) -> bool:
    """Whether the file ends in the middle of a line."""
    tail = _tail(path)
    return bool(tail) and not tail.endswith(b"\n")


def _tail(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | NOFOLLOW | CLOEXEC)
    except OSError:
        return b""
    try:
        size = os.fstat(descriptor).st_size
        os.lseek(descriptor, max(0, size - TAIL), os.SEEK_SET)
        return os.read(descriptor, TAIL)
    finally:
        os.close(descriptor)


def hint(fifo: str, session: str, what: str) -> None:
    """Hint to whoever listens; nobody may be."""
    try:
        descriptor = os.open(fifo, os.O_WRONLY | NONBLOCK | NOFOLLOW | CLOEXEC)
    except OSError:
        return
    with contextlib.suppress(OSError):
        os.write(descriptor, _said(session, what))
    os.close(descriptor)


def _said(session: str, what: str) -> bytes:
    return json.dumps({"session": session, "what": what}).encode() + b"\n"


class Voice:
    """Hints by our standard output, which whoever started us reads while it lives. Who stands still holds up nobody.

    What is hinted while a hint is being written is said once more, together.
    """

    def __init__(self, session: str) -> None:
        """Say nothing yet."""
        self._session = session
        self._wanted = threading.Event()
        self._what = ""
        threading.Thread(target=self._speak, name="voice", daemon=True).start()

    def say(self, what: str) -> None:
        """Hint."""
        self._what = what
        self._wanted.set()

    def _speak(self) -> None:
        with contextlib.suppress(OSError):  # nobody listens any more
            while True:
                self._wanted.wait()
                self._wanted.clear()
                os.write(1, _said(self._session, self._what))
