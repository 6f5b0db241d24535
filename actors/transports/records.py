"""A CLI's own record of its session: the proof that a text became a turn, where there is one.

Read only: presence files and transcripts that the CLI writes for itself. Never the key files beside them.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from typing import Any

from ...state.flags import NOFOLLOW, READ
from .engine import SessionEvent

_POLL_S = 0.2
_PRESENCE_LIMIT = 64 * 1024
_PIECE = 1 << 20
_STOPPED = "[Requestinterruptedbyuser"
"""How the text begins, without its blanks, that stands for an interruption."""


class Record:
    """What was said in one conversation, as its CLI writes it down. A format says where, and takes its entries."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        self.busy: bool | None = None
        """Whether it works; None where it does not say."""
        self.has_expected = False
        self._session: str | None = None
        self._next = 0.0
        self._tail: Tail | None = None
        self._expected: str | None = None
        self._said: list[str] = []
        self._over = False
        """Whether the turn of that text has ended: with its last words, or otherwise."""
        self._model: str | None = None
        self._told: tuple[str | None, str | None] = (None, None)

    def expect(self, text: str) -> None:
        """A text is about to be sent: it is looked for from here on, behind all that is there already."""
        while self._refresh():
            pass
        self._expected, self.has_expected, self._said, self._over = squeezed(text), False, [], False

    def behind(self) -> bool:
        """Whether it has the expected text and not yet what ends its turn: an answer may be drawn before."""
        self._refresh()
        return self.has_expected and not self._over

    def poll(self, now: float) -> None:
        """Look again, unless that was just done."""
        if now < self._next:
            return
        self._next = now + _POLL_S
        self._refresh()

    def tell(self, emit: Callable[[SessionEvent], None]) -> None:
        """Tell the conversation's id and the model that answers, when they are known or change."""
        known = (self._model, self._session)
        if known != self._told and self._model is not None:
            self._told = known
            emit({"type": "start", "model": self._model, "conversation": self._session})

    def answer(self) -> str | None:
        """What it said since the text that was expected; None where the record does not have that text."""
        self._refresh()
        return "\n\n".join(self._said) if self.has_expected else None

    def _refresh(self) -> bool:
        """Read on; whether there is more."""
        if self._tail is None:
            path = self._transcript()
            if path is None:
                return False
            self._tail = Tail(path)
        for line in self._tail.lines():
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict):
                self._take(entry)
        return self._tail.more

    def _transcript(self) -> str | None:
        """Where it is written down; None while that is not known."""
        raise NotImplementedError

    def _take(self, entry: dict[str, Any]) -> None:
        """Take one entry."""
        raise NotImplementedError

    def _asked(self, words: str) -> None:
        """Somebody asked something; ``words`` are squeezed."""
        if self._expected is not None and words and words == self._expected:
            self.has_expected, self._said, self._over = True, [], False

    def _answered(self, model: object, text: str, *, last: bool) -> None:
        """It said something; ``last``: with that its turn is over."""
        if isinstance(model, str) and not model.startswith("<"):
            self._model = model[:200]
        if text.strip():
            self._said.append(text.strip())
        self._over = self._over or last


class ClaudeRecord(Record):
    """Claude Code's (seen: 2.1.332): ``sessions/PID.json`` says whether it works, its transcript what was said."""

    def __init__(self, home: str, pid: int) -> None:
        """Nothing was read yet."""
        super().__init__()
        self._presence = os.path.join(home, "sessions", f"{pid}.json")
        self._projects = os.path.join(home, "projects")

    def _refresh(self) -> bool:
        presence = read_json(self._presence)
        if presence is not None:
            status = presence.get("status")
            self.busy = {"busy": True, "idle": False, "waiting": False}.get(str(status))
            session = presence.get("sessionId")
            if isinstance(session, str) and session != self._session and session.replace("-", "").isalnum():
                self._session = session
                self._tail = None
        return super()._refresh()

    def _transcript(self) -> str | None:
        if self._session is None:
            return None
        with contextlib.suppress(OSError):
            for folder in os.scandir(self._projects):
                path = os.path.join(folder.path, f"{self._session}.jsonl")
                if os.path.isfile(path):
                    return path
        return None

    def _take(self, entry: dict[str, Any]) -> None:
        message = entry.get("message")
        if not isinstance(message, dict) or entry.get("isSidechain"):
            return
        if entry.get("type") == "user":
            words = squeezed(words_of(message.get("content")))
            self._asked(words)
            self._over = self._over or words.startswith(_STOPPED)
        elif entry.get("type") == "assistant":
            text = words_of(message.get("content"))
            self._answered(message.get("model"), text, last=bool(text.strip()))


class Tail:
    """The whole lines of a growing file, each once."""

    def __init__(self, path: str) -> None:
        """Read from the beginning."""
        self.more = False
        """Whether the last piece was a full one."""
        self._path, self._at, self._held = path, 0, b""

    def lines(self) -> list[bytes]:
        """What came since, at most a megabyte."""
        self.more = False
        try:
            descriptor = os.open(self._path, READ | NOFOLLOW)
        except OSError:
            return []
        try:
            os.lseek(descriptor, self._at, os.SEEK_SET)
            data = os.read(descriptor, _PIECE)
        except OSError:
            return []
        finally:
            os.close(descriptor)
        self._at += len(data)
        self.more = len(data) == _PIECE
        *whole, self._held = (self._held + data).split(b"\n")
        if len(self._held) > 8 * _PIECE:
            self._held = b""
        return whole


def words_of(content: object) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        part["text"]
        for part in parts
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    )


def squeezed(text: str) -> str:
    """A text without its blanks: interfaces trim and reflow."""
    return "".join(char for char in text if char > " " and not "\x7f" <= char <= "\xa0")


def read_json(path: str) -> dict[str, Any] | None:
    """A small JSON object, or None."""
    try:
        descriptor = os.open(path, READ | NOFOLLOW)
    except OSError:
        return None
    try:
        value = json.loads(os.read(descriptor, _PRESENCE_LIMIT))
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(descriptor)
    return value if isinstance(value, dict) else None
