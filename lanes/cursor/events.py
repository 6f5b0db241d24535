"""What ``cursor-agent -p --output-format stream-json`` prints, as events. From its public reference (2026-11).

``system/init``, ``user``, ``assistant`` (one whole message a line), ``tool_call`` started and completed
(the tool is the key ``<name>ToolCall``), and a final ``result``. A failed run has no final line: it exits
with another code than 0 and says why on stderr.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...messages.job import ExitStatus, TokenUsage
from ...messages.lane_events import (
    FailureKind,
    LaneEvent,
    ModelObserved,
    Spoke,
    Thought,
    ToolFinished,
    ToolKind,
    TurnEnded,
    UsageReported,
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
    as_object,
    as_text,
    as_word,
    clip,
)

TOOLS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("read", "grep", "glob", "ls", "semSearch", "readLints"), ToolKind.READ),
    **dict.fromkeys(("write", "edit", "delete", "applyPatch"), ToolKind.WRITE),
    "shell": ToolKind.EXECUTE,
}
_ENDING = "ToolCall"
_TARGETS = ("path", "command", "pattern", "globPattern", "query", "url")
_REFUSED = ("rejected", "permissionDenied", "denied")
_FAILED = ("error", "failure", "fileNotFound", "timeout", "spawnError", *_REFUSED)


class CursorParser(JsonLinesParser):
    """Reads stream-json; the result line's text is the answer."""

    types = frozenset({b"system", b"user", b"assistant", b"thinking", b"tool_call", b"result"})
    conversation_key = "session_id"

    def __init__(self) -> None:
        """Start before the first line."""
        super().__init__()
        self._read = {
            "system": self._system,
            "user": self._user,
            "assistant": self._assistant,
            "thinking": self._thinking,
            "tool_call": self._tool_call,
            "result": self._result,
        }

    def on_long_line(self, line: LongLine, events: list[LaneEvent]) -> bool:
        """Take an over-long tool call (a written file) as a sign of life; a result of that length keeps its word."""
        if b'"type":"result"' in line.head[:64]:
            ok = b'"is_error":false' in line.head
            failure = FailureKind.NONE if ok else FailureKind.TASK
            message = f"its final event was {line.length} bytes long; its text is only in the log"
            self.end_turn(TurnEnded(ok=ok, failure=failure, message=message), events)
            return True
        if not line.head.startswith((b'{"type":"tool_call"', b'{"type":"assistant"', b'{"type":"user"')):
            return False
        events.append(Thought(chars=0))
        return True

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        """Return the end of a turn without a result line: stderr says why."""
        kind = ending_kind(exit_status)
        tail = self.err_tail.strip()
        if kind is FailureKind.TASK:
            kind = failures.by_words(tail) or kind
        message = tail or "cursor-agent ended without its result line"
        return TurnEnded(ok=False, failure=kind, message=clip(message, MESSAGE_CHARS), synthetic=True)

    def _system(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if item.get("subtype") == "init" and (model := as_word(item.get("model"))):
            events.append(ModelObserved(model=model, announced=True))

    def _user(self, _item: Mapping[str, Any], _events: list[LaneEvent]) -> None:
        self.begin_turn()

    def _assistant(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        self.begin_turn()
        for entry in as_list(as_object(item.get("message")).get("content")):
            block = as_object(entry)
            if block.get("type") == "text" and (text := as_text(block.get("text"))):
                events.append(Spoke(text=text))

    def _thinking(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        self.begin_turn()
        events.append(Thought(chars=len(as_text(item.get("text")) or "")))

    def _tool_call(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        self.begin_turn()
        name, body = _tool(as_object(item.get("tool_call")))
        if item.get("subtype") == "started":
            events.append(tool_called(name, body.get("args"), TOOLS, _TARGETS))
        elif item.get("subtype") == "completed":
            events.append(_finished(name, as_object(body.get("result"))))

    def _result(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if (usage := _usage(as_object(item.get("usage")))) is not None:
            events.append(UsageReported(usage=usage))
        text = as_text(item.get("result"))
        if item.get("is_error") is False and item.get("subtype") == "success":
            self.end_turn(TurnEnded(ok=True, text=text), events)
            return
        failure = (failures.by_words(text) if text else None) or FailureKind.TASK
        message = clip(text, MESSAGE_CHARS) if text else as_word(item.get("subtype"))
        self.end_turn(TurnEnded(ok=False, failure=failure, message=message), events)


def _tool(call: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return a tool's name and what is said of it: ``{"readToolCall": {"args", "result"}}``."""
    for key, value in list(call.items())[:8]:
        if key.endswith(_ENDING):
            return as_word(key.removesuffix(_ENDING)) or "tool", as_object(value)
    function = as_object(call.get("function"))
    return as_word(function.get("name")) or "tool", function


def _finished(name: str, result: Mapping[str, Any]) -> ToolFinished:
    denied = any(key in result for key in _REFUSED)
    failed = next((key for key in _FAILED if key in result), None)
    success = as_object(result.get("success"))
    code = as_count(success.get("exitCode"))
    ok = failed is None and code in (0, None)
    said = as_object(result.get(failed)) if failed else success
    words = next((text for key in ("reason", "error", "message", "stderr") if (text := as_text(said.get(key)))), None)
    excerpt = clip(words, EXCERPT_CHARS) if words and not ok else None
    return ToolFinished(name=name, ok=ok, denied=denied, excerpt=excerpt)


def _usage(usage: Mapping[str, Any]) -> TokenUsage | None:
    """Return the turn's sum, where the version tells it; cached tokens are counted apart."""
    if not usage:
        return None
    return TokenUsage(
        input=as_count(usage.get("inputTokens")),
        cached_input=as_count(usage.get("cacheReadTokens")),
        cache_write=as_count(usage.get("cacheWriteTokens")),
        output=as_count(usage.get("outputTokens")),
    )
