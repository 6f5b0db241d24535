"""A CLI's own record of its session: the proof that a text became a turn, where there is one.

Read only: presence files and transcripts that the CLI writes for itself. Never the key files beside them.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from ...state.flags import NOFOLLOW, READ
from .engine import SessionEvent

_POLL_S = 0.2
_PRESENCE_LIMIT = 64 * 1024
_PIECE = 1 << 20
_STOPPED = "[Requestinterruptedbyuser"
"""How the text begins, without its blanks, that stands for an interruption."""


class Record:
    """Claude Code's (seen: 2.1.332): ``sessions/PID.json`` says whether it works, its transcript what was said."""

    def __init__(self, home: str, cwd: str, pid: int, since: float) -> None:
        """Nothing was read yet."""
        self.busy: bool | None = None
        self.has_expected = False
        self._presence = os.path.join(home, "sessions", f"{pid}.json")
        self._projects = os.path.join(home, "projects")
        self._cwd, self._since = cwd, since
        self._next = 0.0
        self._tail: Tail | None = None
        self._expected: str | None = None
        self._said: list[str] = []
        self._stopped = False
        """Whether the turn of that text was interrupted."""
        self._model: str | None = None
        self._told: tuple[str | None, str | None] = (None, None)
        self._session: str | None = None

    def expect(self, text: str) -> None:
        """A text is about to be sent: it is looked for from here on."""
        self._refresh()
        self._expected, self.has_expected, self._said, self._stopped = squeezed(text), False, [], False

    def behind(self) -> bool:
        """Whether it has the expected text and nothing after it: 2.1.332 draws an answer before it writes it down."""
        self._refresh()
        return self.has_expected and not self._said and not self._stopped

    def poll(self, now: float) -> None:
        """Look again, unless that was just done."""
        if now < self._next:
            return
        self._next = now + _POLL_S
        self._refresh()

    def _refresh(self) -> None:
        presence = read_json(self._presence)
        if presence is not None:
            status = presence.get("status")
            self.busy = {"busy": True, "idle": False, "waiting": False}.get(str(status))
            session = presence.get("sessionId")
            if isinstance(session, str) and session != self._session and session.replace("-", "").isalnum():
                self._session = session
                self._tail = None
        self._read()

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

    def _read(self) -> None:
        if self._tail is None:
            path = self._transcript()
            if path is None:
                return
            self._tail = Tail(path)
        for line in self._tail.lines():
            self._take(line)

    def _transcript(self) -> str | None:
        if self._session is None:
            return None
        with contextlib.suppress(OSError):
            for folder in os.scandir(self._projects):
                path = os.path.join(folder.path, f"{self._session}.jsonl")
                if os.path.isfile(path):
                    return path
        return None

    def _take(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(entry, dict) or entry.get("isSidechain"):
            return
        message = entry.get("message")
        if not isinstance(message, dict):
            return
        if entry.get("type") == "user":
            text = squeezed(words_of(message.get("content")))
            if self._expected is not None and text and text == self._expected:
                self.has_expected = True
                self._said = []
            elif text.startswith(_STOPPED):
                self._stopped = True
        elif entry.get("type") == "assistant":
            model = message.get("model")
            if isinstance(model, str) and not model.startswith("<"):
                self._model = model[:200]
            if text := words_of(message.get("content")).strip():
                self._said.append(text)


class Tail:
    """The whole lines of a growing file, each once."""

    def __init__(self, path: str) -> None:
        """Read from the beginning."""
        self._path, self._at, self._held = path, 0, b""

    def lines(self) -> list[bytes]:
        """What came since, at most a megabyte."""
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


def record_for(cli: str, env: Mapping[str, str], cwd: str, pid: int, since: float) -> Record | None:
    """The record that a CLI keeps, where reading it is known."""
    if cli != "claude":
        return None
    home = env.get("CLAUDE_CONFIG_DIR") or os.path.join(env.get("HOME") or env.get("USERPROFILE") or "/", ".claude")
    return Record(home, cwd, pid, since)
