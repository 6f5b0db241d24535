"""What ``cline --json`` prints, as events. Seen on 3.0.65.

Final is ``run_result``; ``finishReason`` in it decides (``completed``, ``error``, ``aborted``). Pieces of a
message come as they are made, then the whole of it. Retries are silent, errors are repeated on stderr. There
is no session id in the stream: a conversation can't be named, nor continued without its screen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ...messages.job import ExitStatus, TokenUsage
from ...messages.lane_events import (
    FailureKind,
    LaneEvent,
    ModelObserved,
    Spoke,
    Thought,
    ToolCalled,
    ToolFinished,
    ToolKind,
    TurnEnded,
    UsageReported,
)
from .. import failures
from ..framing import LongLine
from ..jsonl import JsonLinesParser
from ..text import ending_kind
from ..tool_calls import keep_call
from ..values import (
    EXCERPT_CHARS,
    MESSAGE_CHARS,
    TARGET_CHARS,
    as_count,
    as_list,
    as_number,
    as_object,
    as_text,
    as_word,
    clip,
)
from .phrases import PHRASES

TOOLS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("read_files", "search_codebase", "list_files"), ToolKind.READ),
    **dict.fromkeys(("editor", "apply_patch", "delete_file"), ToolKind.WRITE),
    "run_commands": ToolKind.EXECUTE,
}
_TARGETS = ("path", "commands", "paths", "files", "query", "queries", "url", "urls", "description")

REFUSALS = (
    "requires an interactive session",
    "requires approval in a tty session",
    "blocked in plan mode",
    "unavailable tool",
    "read-only file system",
)
"""Words of a tool's error that mean "not permitted", as opposed to "did not work"."""

NOT_STARTED = ("unknown command or unquoted prompt", "requires a prompt argument", "unknown option", "not configured")
CHATTER = "hook dispatch failed"
"""Start of a complaint that says nothing about how the run went."""
_SILENT_EVENTS = frozenset({"iteration_start", "iteration_end", "usage", "done", "notice", "status"})


class ClineParser(JsonLinesParser):
    """Reads the JSON lines; the result carries the answer, the model and the turn's usage."""

    types = frozenset({b"hook_event", b"agent_event", b"run_result", b"run_aborted", b"error", b"run_start"})
    error_needles = (b'"type":"error"',)

    def __init__(self) -> None:
        """Start before the first line."""
        super().__init__()
        self._answer: str | None = None
        self._model: str | None = None
        self._calls: dict[str, str] = {}
        self._complaint: str | None = None

    def on_object(self, item: Mapping[str, Any], events: list[LaneEvent]) -> bool:
        """Append the events of one line."""
        kind = item.get("type")
        if kind == "agent_event":
            return self._agent(as_object(item.get("event")), events)
        if kind == "run_result":
            self._result(item, events)
        # The others are known and add nothing: run_aborted follows a result that says the same.
        return kind in ("hook_event", "run_result", "run_aborted", "error", "run_start")

    def on_long_line(self, line: LongLine, events: list[LaneEvent]) -> bool:
        """Take what a line over the cap shows at its ends: its kind, and of a result how it went."""
        if b'"type":"run_result"' in line.head:
            ok = b'"finishReason":"completed"' in line.head
            message = f"its final event was {line.length} bytes long; its text is only in the log"
            failure = FailureKind.NONE if ok else FailureKind.TASK
            self.end_turn(TurnEnded(ok=ok, text=self._answer, failure=failure, message=message), events)
            return True
        if b'"type":"agent_event"' not in line.head:
            return False
        self.begin_turn()
        events.append(Thought(chars=0))
        return True

    def on_error_line(self, text: str, events: list[LaneEvent]) -> None:  # noqa: ARG002  stderr only explains the end
        """Keep the last complaint; the result line, if there is one, says the same."""
        try:
            item = json.loads(text)
        except (ValueError, RecursionError):
            return
        said = as_text(as_object(item).get("message"), MESSAGE_CHARS)
        if said and not said.startswith(CHATTER):
            self._complaint = said

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        """Return the end of a turn without a result line."""
        kind = ending_kind(exit_status)
        tail = self._complaint or self.err_tail.strip()
        if kind is FailureKind.TASK:
            said = failures.normal(tail)
            started = not any(words in said for words in NOT_STARTED)
            kind = (failures.by_words(tail, PHRASES) or kind) if started else FailureKind.LAUNCH
        message = tail or "Cline ended without its result line"
        return TurnEnded(
            ok=False, text=self._answer, failure=kind, message=clip(message, MESSAGE_CHARS), synthetic=True
        )

    def _agent(self, event: Mapping[str, Any], events: list[LaneEvent]) -> bool:
        kind = event.get("type")
        read: Callable[[Mapping[str, Any], list[LaneEvent]], None] | None = None
        if kind == "content_start":
            read = {"text": self._piece, "reasoning": self._thought, "tool": self._call}.get(_content(event))
        elif kind == "content_end":
            read = {"text": self._whole, "reasoning": self._nothing, "tool": self._called}.get(_content(event))
        elif kind == "error":
            self._complaint = as_text(as_object(event.get("error")).get("message"), MESSAGE_CHARS) or self._complaint
            return True
        elif kind == "content_update" or kind in _SILENT_EVENTS:
            read = self._nothing
        if read is None:
            return False
        if kind != "done":
            self.begin_turn()
        read(event, events)
        return True

    def _nothing(self, event: Mapping[str, Any], events: list[LaneEvent]) -> None:
        """A sign of life that says nothing more."""

    def _piece(self, event: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if text := as_text(event.get("text")):
            events.append(Spoke(text=text, partial=True))

    def _whole(self, event: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if text := as_text(event.get("text")):
            self._answer = text
            events.append(Spoke(text=text))

    def _thought(self, event: Mapping[str, Any], events: list[LaneEvent]) -> None:
        said = as_text(event.get("reasoning")) or as_text(event.get("text")) or ""
        events.append(Thought(chars=len(said)))

    def _call(self, event: Mapping[str, Any], events: list[LaneEvent]) -> None:
        name = as_word(event.get("toolName")) or "tool"
        keep_call(self._calls, as_word(event.get("toolCallId")), name)
        events.append(ToolCalled(tool=TOOLS.get(name, ToolKind.OTHER), name=name, target=_target(event.get("input"))))

    def _called(self, event: Mapping[str, Any], events: list[LaneEvent]) -> None:
        name = self._calls.pop(as_word(event.get("toolCallId")) or "", None) or as_word(event.get("toolName"))
        said, failed = _outcome(event)
        words = (said or "").lower()
        denied = failed and any(part in words for part in REFUSALS)
        excerpt = clip(said, EXCERPT_CHARS) if said and failed else None
        events.append(ToolFinished(name=name, ok=not failed, denied=denied, excerpt=excerpt))

    def _result(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        model = as_word(as_object(item.get("model")).get("id"))
        if model and model != self._model:
            self._model = model
            events.append(ModelObserved(model=model))
        totals = as_object(item.get("aggregateUsage")) or as_object(item.get("usage"))
        if (usage := _usage(totals)) is not None:
            # A model without a price is told as 0: what it costs is not known then.
            events.append(UsageReported(usage=usage, cash_usd=as_number(totals.get("totalCost")) or None))
        self.end_turn(self._ending(item), events)

    def _ending(self, item: Mapping[str, Any]) -> TurnEnded:
        reason = as_word(item.get("finishReason")) or "unknown"
        text = as_text(item.get("text"))
        if reason == "completed":
            return TurnEnded(ok=True, text=text or self._answer)
        if reason == "aborted":
            return TurnEnded(ok=False, text=self._answer, failure=FailureKind.INTERRUPTED, message="aborted")
        said = clip(text, MESSAGE_CHARS) if text else f"it stopped for the reason {reason}"
        failure = (failures.by_words(said, PHRASES) if text else None) or FailureKind.TASK
        return TurnEnded(ok=False, text=self._answer, failure=failure, message=said)


def _content(event: Mapping[str, Any]) -> str:
    return as_word(event.get("contentType")) or ""


def _target(arguments: object) -> str | None:
    """Return what a tool is used on: the first word found, also where it is the first of a list."""
    given = as_object(arguments)
    for key in _TARGETS:
        value = given.get(key)
        first = next(iter(as_list(value)), value)
        word = as_word(first, TARGET_CHARS) or as_word(as_object(first).get("path"), TARGET_CHARS)
        if word is not None:
            return word
    return None


def _outcome(event: Mapping[str, Any]) -> tuple[str | None, bool]:
    """Return a tool's words and whether it failed; some tools report a list, one row for each thing done."""
    output = event.get("output")
    rows = [as_object(row) for row in as_list(output)] or [as_object(output)]
    error = as_text(event.get("error"), 4 * EXCERPT_CHARS)
    bad = next((row for row in rows if row.get("error") is not None or row.get("success") is False), None)
    if bad is None:
        return error, error is not None
    parts = (as_text(bad.get(key), 4 * EXCERPT_CHARS) for key in ("error", "result"))
    return "\n".join(filter(None, parts)) or error, True


def _usage(usage: Mapping[str, Any]) -> TokenUsage | None:
    """Return the run's sum. Cline counts cached tokens within ``inputTokens``; here they are apart.

    All zeros is what it prints when no answer came: nothing is known then.
    """
    total, output = as_count(usage.get("inputTokens")), as_count(usage.get("outputTokens"))
    if not total and not output:
        return None
    read, written = as_count(usage.get("cacheReadTokens")), as_count(usage.get("cacheWriteTokens"))
    return TokenUsage(
        input=None if total is None else max(0, total - (read or 0) - (written or 0)),
        cached_input=read,
        cache_write=written,
        output=output,
    )
