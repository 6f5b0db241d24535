"""What ``droid exec -o stream-json`` prints, as events. Seen on 0.215.0.

Final is ``completion``, or an ``error`` line from the source ``cli``: the ``error`` line from
``agent_loop`` before it says why. Retries are silent. Its exit code is 0 after a signal. With
``-o json`` it prints one ``result`` line, which is read as well.
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
from ..tool_calls import keep_call
from ..values import (
    EXCERPT_CHARS,
    MESSAGE_CHARS,
    as_count,
    as_object,
    as_text,
    as_word,
    clip,
)

TOOLS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("Read", "LS", "Grep", "Glob"), ToolKind.READ),
    **dict.fromkeys(("Create", "Edit", "MultiEdit", "ApplyPatch"), ToolKind.WRITE),
    "Execute": ToolKind.EXECUTE,
}
_TARGETS = ("file_path", "command", "directory_path", "path", "pattern", "url", "query", "summary")

REFUSALS = ("is not permitted in this exec session", "insufficient permission to proceed")
"""Words of a tool's error that mean "not permitted", as opposed to "did not work"."""

NOT_STARTED = ("unsupported reasoning effort", "error: unknown option")


class DroidParser(JsonLinesParser):
    """Reads the JSON lines; the completion carries the answer and the turn's usage."""

    types = frozenset({b"system", b"message", b"tool_call", b"tool_result", b"completion", b"error", b"result"})
    conversation_key = "session_id"

    def __init__(self) -> None:
        """Start before the first line."""
        super().__init__()
        self._calls: dict[str, str] = {}
        self._error: str | None = None
        self._read = {
            "system": self._system,
            "message": self._message,
            "tool_call": self._tool,
            "tool_result": self._tool_result,
            "completion": self._completion,
            "error": self._failed,
            "result": self._result,
        }

    def on_long_line(self, line: LongLine, events: list[LaneEvent]) -> bool:
        """Take what a line over the cap shows at its start: its kind."""
        if line.head.startswith(b'{"type":"completion"'):
            message = f"its final event was {line.length} bytes long; its text is only in the log"
            self.end_turn(TurnEnded(ok=True, message=message), events)
            return True
        if line.head.startswith((b'{"type":"message"', b'{"type":"tool_')):
            self.begin_turn()
            events.append(Thought(chars=0))
            return True
        return False

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        """Return the end of a turn without a completion."""
        kind = ending_kind(exit_status)
        tail = self._error or self.err_tail.strip()
        if kind is FailureKind.TASK and tail:
            # What comes on stderr may be another program's: a bare number in front of it says nothing.
            told = _kind(tail) if self._error else failures.by_words(tail)
            kind = _not_started(tail) or told or kind
        message = tail or "Droid ended without its completion line"
        return TurnEnded(ok=False, failure=kind, message=clip(message, MESSAGE_CHARS), synthetic=True)

    def _system(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if item.get("subtype") == "init" and (model := as_word(item.get("model"))):
            events.append(ModelObserved(model=model, announced=True))

    def _message(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        text = as_text(item.get("text"))
        if item.get("role") != "assistant" or not text:
            return
        self.begin_turn()
        events.append(Spoke(text=text))

    def _tool(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        self.begin_turn()
        name = as_word(item.get("toolName")) or as_word(item.get("toolId")) or "tool"
        keep_call(self._calls, as_word(item.get("id")), name)
        events.append(tool_called(name, item.get("parameters"), TOOLS, _TARGETS))

    def _tool_result(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        failed = item.get("isError") is True
        said = as_text(as_object(item.get("error")).get("message"), 4 * EXCERPT_CHARS) or ""
        name = self._calls.pop(as_word(item.get("id")) or "", None) or as_word(item.get("toolName"))
        events.append(
            ToolFinished(
                name=name,
                ok=not failed,
                denied=failed and any(words in said for words in REFUSALS),
                excerpt=clip(said, EXCERPT_CHARS) if failed and said else None,
            )
        )

    def _completion(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        _report(item, events)
        self.end_turn(TurnEnded(ok=True, text=as_text(item.get("finalText"))), events)

    def _result(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        _report(item, events)
        text = as_text(item.get("result"))
        if item.get("is_error") is False:
            self.end_turn(TurnEnded(ok=True, text=text), events)
        else:
            self._end_badly(text or self._error or "", events)

    def _failed(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        said = as_text(item.get("message"), MESSAGE_CHARS)
        if item.get("source") == "cli":
            self._end_badly(self._error or said or "", events)
        else:
            self._error = said or self._error

    def _end_badly(self, said: str, events: list[LaneEvent]) -> None:
        message = clip(said, MESSAGE_CHARS) if said else None
        self.end_turn(TurnEnded(ok=False, failure=_kind(said), message=message), events)


def _kind(said: str) -> FailureKind:
    """Return why it failed: Droid puts the HTTP status of a model request in front of the server's words."""
    if any(words in said for words in REFUSALS):
        return FailureKind.PERMISSION
    return failures.by_provider(said) or FailureKind.TASK


def _not_started(said: str) -> FailureKind | None:
    """Return why it refused its own command line, or None. The list of models that follows may be long."""
    words = said.lower()
    if "invalid model:" in words:
        return FailureKind.MODEL_GONE
    return FailureKind.LAUNCH if any(start in words for start in NOT_STARTED) else None


def _report(item: Mapping[str, Any], events: list[LaneEvent]) -> None:
    """Append the turn's sum. Droid counts uncached, cached and written prompt tokens apart.

    It fills in zeros where its provider told nothing.
    """
    usage = as_object(item.get("usage"))
    if as_count(usage.get("input_tokens")) or as_count(usage.get("output_tokens")):
        counts = TokenUsage(
            input=as_count(usage.get("input_tokens")),
            cached_input=as_count(usage.get("cache_read_input_tokens")),
            cache_write=as_count(usage.get("cache_creation_input_tokens")),
            output=as_count(usage.get("output_tokens")),
        )
        events.append(UsageReported(usage=counts))
