"""The line protocol of our own delegate programs; a TOML lane may choose it too.

One JSON object a line: ``start``, ``text``, ``thought``, ``tool``, ``tool_end``, ``usage``,
``retry``, ``end`` (fields where each is read). Unknown fields are ignored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from ..messages.job import ExitStatus, TokenUsage
from ..messages.lane_events import (
    ConversationStarted,
    FailureKind,
    LaneEvent,
    ModelObserved,
    Retrying,
    Spoke,
    Thought,
    ToolCalled,
    ToolFinished,
    ToolKind,
    TurnEnded,
    UsageReported,
)
from .jsonl import JsonLinesParser
from .text import ANSWER_CAP, ending_kind
from .values import EXCERPT_CHARS, MESSAGE_CHARS, TARGET_CHARS, as_count, as_number, as_text, as_word, clip

_KINDS = {kind.value: kind for kind in ToolKind}
FAILURES = {kind.value: kind for kind in FailureKind if kind is not FailureKind.NONE}
"""What an ``end`` that is not ok may give as its ``failure``."""

_WORD_CHARS = 40


class OsrcParser(JsonLinesParser):
    """Reads the protocol; pieces of text are kept so that a cut-off answer is not lost."""

    types = frozenset({b"start", b"text", b"thought", b"tool", b"tool_end", b"usage", b"retry", b"end"})

    def __init__(self) -> None:
        """Start with nothing said."""
        super().__init__()
        self._pieces: deque[str] = deque()
        self._kept = 0
        self._whole: str | None = None
        self._read = {
            "start": self._start,
            "text": self._text,
            "thought": self._thought,
            "tool": self._tool,
            "tool_end": self._tool_end,
            "usage": self._usage,
            "retry": self._retry,
            "end": self._end,
        }

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        """Return an end that did not go well: a delegate of this protocol always says ``end``."""
        kind = ending_kind(exit_status)
        said = self._said()
        message = self.err_tail.strip() or "the delegate ended without its final event"
        return TurnEnded(ok=False, text=said, failure=kind, message=clip(message, MESSAGE_CHARS), synthetic=True)

    def _said(self) -> str | None:
        return "".join(self._pieces) or self._whole

    def _start(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        self.begin_turn()
        if model := as_word(item.get("model")):
            events.append(ModelObserved(model=model))
        if conversation := as_word(item.get("conversation")):
            events.append(ConversationStarted(conversation=conversation))

    def _text(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        text = as_text(item.get("text"))
        if not text:
            return
        partial = item.get("partial") is True
        if partial:
            self._pieces.append(text)
            self._kept += len(text)
            while self._kept - len(self._pieces[0]) >= ANSWER_CAP:
                self._kept -= len(self._pieces.popleft())
        else:
            self._whole = text
        events.append(Spoke(text=text, partial=partial))

    def _thought(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        events.append(Thought(chars=as_count(item.get("chars")) or 0))

    def _tool(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        kind = item.get("tool")
        tool = _KINDS.get(kind, ToolKind.OTHER) if isinstance(kind, str) else ToolKind.OTHER
        name = as_word(item.get("name")) or tool.value
        events.append(ToolCalled(tool=tool, name=name, target=as_word(item.get("target"), TARGET_CHARS)))

    def _tool_end(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        denied = item.get("denied") is True
        events.append(
            ToolFinished(
                name=as_word(item.get("name")),
                ok=item.get("ok") is not False and not denied,
                denied=denied,
                excerpt=as_text(item.get("excerpt"), EXCERPT_CHARS),
            )
        )

    def _usage(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        usage = TokenUsage(
            input=as_count(item.get("input")),
            cached_input=as_count(item.get("cached_input")),
            cache_write=as_count(item.get("cache_write")),
            output=as_count(item.get("output")),
            reasoning=as_count(item.get("reasoning")),
        )
        events.append(UsageReported(usage=usage, cash_usd=as_number(item.get("cash_usd"))))

    def _retry(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        events.append(
            Retrying(
                attempt=as_count(item.get("attempt")),
                status=as_count(item.get("status")),
                delay_s=as_number(item.get("delay_s")),
                message=as_text(item.get("message"), EXCERPT_CHARS),
            )
        )

    def _end(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        ok = item.get("ok") is True
        word, message = item.get("failure"), as_text(item.get("message"), MESSAGE_CHARS)
        named = FAILURES.get(word) if isinstance(word, str) else None
        if not ok and named is None and word is not None:
            told = f"its end's failure {clip(str(word), _WORD_CHARS)!a} is none of {', '.join(FAILURES)}"
            message = clip(f"{message} ({told})" if message else told, MESSAGE_CHARS)
        text = as_text(item.get("text"))
        self.end_turn(
            TurnEnded(
                ok=ok,
                text=self._said() if text is None else text,
                failure=FailureKind.NONE if ok else named or FailureKind.TASK,
                message=message,
                until=as_number(item.get("until")),
            ),
            events,
        )
