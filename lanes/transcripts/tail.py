"""What the end of a transcript tells: who spoke last, what is open, who is asked, which model, where.

A transcript is somebody else's file: every text is cut and cleaned as it comes in, every list is bounded, and
nothing that a text says is ever taken for an event.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from ...messages.paths import is_absolute
from ..values import as_text, as_word

FIRST_CHARS, LAST_CHARS, LINE_CHARS, TITLE_CHARS = 600, 400, 300, 120
PATH_CHARS = 4096
MOST_TOOLS, MOST_LINES = 64, 6

QUESTIONS = frozenset(
    {"askuserquestion", "askuser", "askfollowupquestion", "askquestion", "question", "requestuserinput", "exitplanmode"}
)
"""Tools that ask the person, as the CLIs call them, without ``_`` and case: their open call waits for somebody."""


class Turn(StrEnum):
    """How the last turn stands, by the transcript alone."""

    OPEN = "open"
    ENDED = "ended"
    FAILED = "failed"
    ABORTED = "aborted"


class Speaker(StrEnum):
    """Whose words were last."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(slots=True)
class Tail:
    """The facts of one transcript. Unknown is None."""

    session_id: str | None = None
    cwd: str | None = None
    branch: str | None = None
    model: str | None = None
    version: str | None = None
    """Of the tool."""
    title: str | None = None
    first_user: str | None = None
    """The beginning of the first request."""
    last_said: str | None = None
    speaker: Speaker | None = None
    turn: Turn | None = None
    error: str | None = None
    """Why the last turn failed."""
    asked: str | None = None
    """What a person is asked and has not answered."""
    asked_by: str | None = None
    """The call whose result answers that, where it is one."""
    closed: bool = False
    """Whether the program wrote that its session is over."""
    at: float | None = None
    """When the last thing was told, by the transcript's own clock; epoch seconds."""
    pid: int | None = None
    """The process that the tool itself names as the session's."""
    tools: dict[str, str] = field(default_factory=dict)
    """Calls without a result: id → the tool's name."""
    lines: list[str] = field(default_factory=list)
    """The last texts, as ``who: text``."""

    def user(self, text: object) -> None:
        """The person said something: a new turn begins, and what was open before is void."""
        self._begin()
        self.speaker = Speaker.USER
        said = as_text(text, FIRST_CHARS)
        if said and said.strip():
            self.first_user = self.first_user or said.strip()
            self._line("user", said)

    def _begin(self) -> None:
        self.turn, self.error, self.closed = Turn.OPEN, None, False
        self.asked = self.asked_by = None
        self.tools.clear()

    def began(self) -> None:
        """The tool told that a turn began."""
        self._begin()

    def said(self, text: object, *, last: bool) -> None:
        """The assistant said something; ``last``: nothing follows it in this turn, as far as the row tells."""
        self.speaker, self.closed = Speaker.ASSISTANT, False
        words = as_text(text, LAST_CHARS)
        if words and words.strip():
            self.last_said = words.strip()
            self._line("assistant", words)
        if not self.tools:
            self.turn = Turn.ENDED if last else Turn.OPEN

    def called(self, call: object, name: object) -> None:
        """The assistant called a tool."""
        known = as_word(name, 80) or "a tool"
        self.speaker, self.turn = Speaker.ASSISTANT, Turn.OPEN
        if len(self.tools) < MOST_TOOLS:
            self.tools[as_word(call, 200) or known] = known
        if is_question(known):
            self.asks(known, call)
        else:
            self._line("tool", known)

    def asks(self, what: object, call: object = None) -> None:
        """A person is asked; ``call`` is whose result will be the answer."""
        self.asked = as_word(what, LINE_CHARS) or "a question"
        self.asked_by = as_word(call, 200)

    def returned(self, call: object) -> None:
        """A tool's result is there. One whose call was not seen closes nothing."""
        self.speaker, self.turn = Speaker.TOOL, Turn.OPEN
        known = as_word(call, 200)
        if known is not None:
            self.tools.pop(known, None)
            if known == self.asked_by:
                self.asked = self.asked_by = None

    def ended(self, turn: Turn = Turn.ENDED, error: object = None) -> None:
        """The tool told how the turn ended."""
        self.turn, self.asked, self.asked_by = turn, None, None
        self.tools.clear()
        self.error = as_word(error, LINE_CHARS) if turn is Turn.FAILED else None

    def named(self, **known: object) -> None:
        """Take what a row says of the session itself; what it does not say stays."""
        for name, value in known.items():
            word = _folder(value) if name == "cwd" else as_word(value, TITLE_CHARS)
            if word is not None:
                setattr(self, name, word)

    def when(self, value: object) -> None:
        """Take a row's time: ISO 8601, epoch seconds, or epoch milliseconds."""
        known = instant(value)
        if known is not None:
            self.at = known

    def _line(self, who: str, text: str) -> None:
        words = as_word(text, LINE_CHARS)
        if words:
            self.lines.append(f"{who}: {words}")
            del self.lines[:-MOST_LINES]


def _folder(value: object) -> str | None:
    """Return an absolute path, or None."""
    path = as_text(value, PATH_CHARS)
    return path if path and is_absolute(path) and "\n" not in path else None


def is_question(name: str) -> bool:
    """Whether a tool of that name asks a person."""
    return name.lower().replace("_", "").replace("-", "").rpartition(":")[2] in QUESTIONS


def instant(value: object) -> float | None:
    """Return epoch seconds of what a row calls a time, or None."""
    if isinstance(value, str) and len(value) < 64:
        try:
            return datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    if not math.isfinite(number) or not 0 < number < 1e14:
        return None
    return number / 1000 if number > 1e11 else number


_TEXTS = ("first_user", "last_said", "lines")


def packed(tail: Tail, *, texts: bool = True) -> dict[str, Any]:
    """Return the facts as plain values; without ``texts`` nobody's words are among them."""
    return {one.name: getattr(tail, one.name) for one in fields(tail) if texts or one.name not in _TEXTS}


def unpacked(value: Mapping[str, Any]) -> Tail:
    """Return the facts that ``packed`` made plain. Raises ValueError or TypeError for anything else."""
    known = {one.name for one in fields(Tail)}
    tail = Tail(**{name: given for name, given in value.items() if name in known})
    tail.speaker = Speaker(tail.speaker) if tail.speaker is not None else None
    tail.turn = Turn(tail.turn) if tail.turn is not None else None
    if not isinstance(tail.tools, dict) or not isinstance(tail.lines, list):
        raise TypeError("no transcript's facts")
    words = (tail.session_id, tail.cwd, tail.branch, tail.model, tail.version, tail.title, tail.error, tail.asked)
    if any(word is not None and not isinstance(word, str) for word in words):
        raise TypeError("no transcript's facts")
    return tail
