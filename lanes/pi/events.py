"""What ``pi -p --mode json`` prints, as events. Seen on 0.73.1.

Its exit code is 0 whatever the API answered: how a turn went is the ``stopReason`` of its last message.
Final is ``agent_end``, unless that message is an error: pi may try again after it (``auto_retry_start``),
so an error is final at ``auto_retry_end``, or when the output ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...messages.job import ExitStatus
from ...messages.lane_events import (
    ConversationStarted,
    FailureKind,
    LaneEvent,
    ModelObserved,
    Retrying,
    Spoke,
    Thought,
    ToolFinished,
    TurnEnded,
)
from .. import failures
from ..framing import LongLine
from ..jsonl import JsonLinesParser, tool_called
from ..text import ending_kind
from ..values import (
    EXCERPT_CHARS,
    MESSAGE_CHARS,
    as_count,
    as_list,
    as_number,
    as_object,
    as_text,
    as_word,
    clip,
)
from ..vehicles.pi_cli.phrases import ERRORS
from ..vehicles.pi_cli.tools import TARGETS, TOOLS
from .usage import Ledger

STOPS: Mapping[str, FailureKind] = {
    "aborted": FailureKind.INTERRUPTED,
    "error": FailureKind.TASK,
    "length": FailureKind.OUTPUT_LIMIT,
    "stop": FailureKind.NONE,
    "toolUse": FailureKind.NONE,
}
"""Every ``stopReason``; seen: error, stop, toolUse."""

PHRASES: failures.Phrases = ((FailureKind.AUTH, ("no api key found for", "no api key found.", "no models available.")),)
"""Its words on stderr where it ends before the first message."""

_SILENT = frozenset(
    {"turn_start", "turn_end", "message_start", "tool_execution_update", "queue_update", "compaction_start"}
    | {"compaction_end", "session_info_changed", "thinking_level_changed", "model_select"}
)
_LONG_MESSAGE = b'{"type":"message_end","message":{"role":"assistant"'


class PiParser(JsonLinesParser):
    """Reads the JSON lines; the last assistant message is the answer."""

    types = frozenset(
        {b"session", b"agent_start", b"agent_end", b"message_update", b"message_end", b"tool_execution_start"}
        | {b"tool_execution_end", b"auto_retry_start", b"auto_retry_end"}
        | {kind.encode() for kind in _SILENT}
    )
    silent = _SILENT

    def __init__(self) -> None:
        """Start before the first line."""
        super().__init__()
        self._answer: str | None = None
        self._stop: str | None = None
        self._error: str | None = None
        self._note: str | None = None
        self._model: str | None = None
        self._ledger = Ledger()
        self._read = {
            "session": self._session,
            "agent_start": self._started,
            "agent_end": self._ended,
            "message_update": self._piece,
            "message_end": self._message,
            "tool_execution_start": self._tool,
            "tool_execution_end": self._tool_result,
            "auto_retry_start": self._retry,
            "auto_retry_end": self._retried,
        }

    def on_long_line(self, line: LongLine, events: list[LaneEvent]) -> bool:
        """Take what a line over the cap shows at its ends: its kind, and how a message stopped.

        ``agent_end`` repeats the whole conversation, and each piece of a message the message so far.
        """
        if line.head.startswith(b'{"type":"agent_end"'):
            self._ended({}, events)
            return True
        if line.head.startswith(_LONG_MESSAGE):
            self._stop = next((stop for stop in STOPS if f'"stopReason":"{stop}"'.encode() in line.tail), None)
            self._answer = None
            self._note = f"its last message was {line.length} bytes long; its text is only in the log"
        elif not self._known_kind(line.head):
            return False
        events.append(Thought(chars=0))
        return True

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        """Return the end of a turn that was never ended, or whose error nobody tried again."""
        kind = ending_kind(exit_status)
        if self._stop == "error" and kind is FailureKind.TASK:
            return self._ending()
        tail = self.err_tail.strip()
        if kind is FailureKind.TASK and tail:
            words = failures.normal(tail)
            gone = words.startswith("error: model ") and "not found" in words
            kind = FailureKind.MODEL_GONE if gone else failures.by_words(tail, PHRASES) or kind
        message = clip(tail or self._error or "pi ended without agent_end", MESSAGE_CHARS)
        return TurnEnded(ok=False, text=self._answer, failure=kind, message=message, synthetic=True)

    def _known_kind(self, head: bytes) -> bool:
        return head.partition(b'{"type":"')[2].partition(b'"')[0] in self.types

    def _session(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if conversation := as_word(item.get("id")):
            events.append(ConversationStarted(conversation=conversation))

    def _started(self, _item: Mapping[str, Any], _events: list[LaneEvent]) -> None:
        self._stop = self._error = self._note = None
        self.begin_turn()

    def _piece(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        event = as_object(item.get("assistantMessageEvent"))
        delta = as_text(event.get("delta"))
        if not delta:
            return
        if event.get("type") == "text_delta":
            events.append(Spoke(text=delta, partial=True))
        else:
            events.append(Thought(chars=len(delta)))

    def _message(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        message = as_object(item.get("message"))
        if message.get("role") != "assistant":
            return
        self._stop = as_word(message.get("stopReason"))
        self._error = as_text(message.get("errorMessage"), MESSAGE_CHARS)
        self._note = None
        if self._stop == "error":
            return
        model = as_word(message.get("responseModel")) or as_word(message.get("model"))
        if model and model != self._model:
            self._model = model
            events.append(ModelObserved(model=model))
        self._say(message, events)
        usage = as_object(message.get("usage"))
        if model and self._ledger.add(model, usage):
            events.append(self._ledger.report())

    def _say(self, message: Mapping[str, Any], events: list[LaneEvent]) -> None:
        texts = []
        for entry in as_list(message.get("content")):
            block = as_object(entry)
            if block.get("type") == "text":
                texts.append(as_text(block.get("text")) or "")
            elif block.get("type") == "thinking":
                events.append(Thought(chars=len(as_text(block.get("thinking")) or "")))
        if text := "".join(texts):
            self._answer = text
            events.append(Spoke(text=text))

    def _tool(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        name = as_word(item.get("toolName")) or "tool"
        events.append(tool_called(name, item.get("args"), TOOLS, TARGETS))

    def _tool_result(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        name = as_word(item.get("toolName"))
        failed = item.get("isError") is True
        blocks = as_list(as_object(item.get("result")).get("content"))
        said = as_text(as_object(blocks[0]).get("text"), 4 * EXCERPT_CHARS) if blocks else None
        denied = failed and said == f"Tool {name} not found"
        excerpt = clip(said, EXCERPT_CHARS) if failed and said else None
        events.append(ToolFinished(name=name, ok=not failed, denied=denied, excerpt=excerpt))

    def _retry(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        said = as_text(item.get("errorMessage"), EXCERPT_CHARS) or ""
        delay_ms = as_number(item.get("delayMs"))
        events.append(
            Retrying(
                attempt=as_count(item.get("attempt")),
                status=failures.leading_status(said),
                delay_s=None if delay_ms is None else delay_ms / 1000,
                message=said or None,
                failure=failures.by_provider(said, ERRORS) if said else None,
            )
        )

    def _retried(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if item.get("success") is False:
            self._stop = "error"
            self._error = as_text(item.get("finalError"), MESSAGE_CHARS) or self._error
            self.end_turn(self._ending(), events)

    def _ended(self, _item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if self._stop is not None and self._stop != "error":
            self.end_turn(self._ending(), events)

    def _ending(self) -> TurnEnded:
        failure = STOPS.get(self._stop or "", FailureKind.TASK)
        if failure is FailureKind.NONE:
            return TurnEnded(ok=True, text=self._answer, message=self._note)
        if failure is FailureKind.TASK:
            failure = failures.by_provider(self._error or "", ERRORS) or failure
        message = self._error or self._note or f"its last message ended with: {self._stop}"
        return TurnEnded(ok=False, text=self._answer, failure=failure, message=message)
