"""What ``qwen -o stream-json`` prints, as events. Seen on 0.24.4.

The shapes are those of Claude Code with differences of its own: a failed turn carries ``error.message``
(and says it again as words of the model), ``input_tokens`` holds the cached ones, and a provider that
keeps refusing is retried for hours. The status of a retry is told on stderr alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...messages.job import ExitStatus, TokenUsage
from ...messages.lane_events import (
    Denied,
    FailureKind,
    LaneEvent,
    ModelObserved,
    Retrying,
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
    as_list,
    as_number,
    as_object,
    as_text,
    as_word,
    clip,
)
from .phrases import NOT_STARTED, PHRASES

TOOLS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("read_file", "read_many_files", "grep_search", "glob", "list_directory"), ToolKind.READ),
    **dict.fromkeys(("write_file", "edit", "notebook_edit"), ToolKind.WRITE),
    "run_shell_command": ToolKind.EXECUTE,
}
_TARGETS = ("file_path", "absolute_path", "notebook_path", "command", "path", "pattern", "query", "url", "description")
REFUSALS = ("permission was declined", "requires permission to use", "Matching deny rule", "in plan mode")

OWN_ERRORS = ("[API Error: ", "Quota exhausted: ")
"""Starts of sentences that it puts into the model's mouth; the result line repeats them."""

MOST_ATTEMPTS = 3
"""Announced waits after which going on is pointless: 0.24.4 waits 60 s, 120 s, 240 s ... ten times, each
after a minute and more of retries that it does not tell."""

CHATTER = ("Ripgrep not available", "Warning: running headless with --yolo", "Retrying provider attempt")
"""Starts of stderr lines that say nothing about how the turn went."""

_RETRY = re.compile(r"Retrying in (\d{1,6})s \(attempt (\d{1,3})/\d{1,3}\): (.{0,2000})")


class QwenParser(JsonLinesParser):
    """Reads the JSON lines of one headless run."""

    types = frozenset({b"system", b"assistant", b"user", b"result", b"stream_event"})
    conversation_key = "session_id"
    error_needles = (b"Retrying in ",)

    def __init__(self) -> None:
        """Start before the first line."""
        super().__init__()
        self._model: str | None = None
        self._calls: dict[str, str] = {}
        self._denied: dict[str, None] = {}
        self._attempt = 0
        self._refusal: str | None = None
        self._read = {
            "system": self._system,
            "assistant": self._assistant,
            "user": self._user,
            "result": self._result,
            "stream_event": self._piece,
        }

    def on_long_line(self, line: LongLine, events: list[LaneEvent]) -> bool:
        """Take what a line over the cap shows at its start: its kind, and of a result how it went."""
        if line.head.startswith(b'{"type":"result"'):
            ok = b'"is_error":false' in line.head[:4096]
            message = f"its final event was {line.length} bytes long; its text is only in the log"
            failure = FailureKind.NONE if ok else FailureKind.TASK
            self.end_turn(TurnEnded(ok=ok, failure=failure, message=message), events)
            return True
        if not line.head.startswith((b'{"type":"assistant"', b'{"type":"user"', b'{"type":"system"')):
            return False
        events.append(Thought(chars=0))
        return True

    def on_error_line(self, text: str, events: list[LaneEvent]) -> None:
        """Append a retry that stderr tells, with the provider's words."""
        match = _RETRY.match(text)
        if match is None:
            return
        self._attempt = max(self._attempt, int(match[2]))
        self._refusal = match[3]
        status = failures.status_in(self._refusal)
        message = clip(self._refusal, EXCERPT_CHARS)
        events.append(Retrying(attempt=int(match[2]), status=status, delay_s=float(match[1]), message=message))
        self._give_up(events)

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        """Return the end of a turn without a result line."""
        lines = (line for line in self.err_tail.splitlines() if line.strip() and not line.startswith(CHATTER))
        tail = self._refusal or "\n".join(lines).strip()
        kind = ending_kind(exit_status)
        if kind is FailureKind.TASK:
            started = not any(words in tail for words in NOT_STARTED)
            kind = (failures.by_words(tail, PHRASES) or kind) if started else FailureKind.LAUNCH
        message = tail or "Qwen Code ended without its result line"
        return TurnEnded(ok=False, failure=kind, message=clip(message, MESSAGE_CHARS), synthetic=True)

    def _give_up(self, events: list[LaneEvent]) -> None:
        """End the turn where Qwen Code would wait on for a limit that does not pass in minutes.

        It is our reading, not its final event; a model that is heard again reopens the turn.
        """
        kind = failures.by_words(self._refusal or "", PHRASES) or FailureKind.RATE_LIMIT
        if kind is FailureKind.PLAN_LIMIT or self._attempt >= MOST_ATTEMPTS:
            message = f"Qwen Code would go on retrying: {self._refusal or 'its provider refuses'}"
            self.end_turn(TurnEnded(ok=False, failure=kind, message=clip(message, MESSAGE_CHARS)), events)

    def _heard(self) -> None:
        self.begin_turn()
        self._attempt = 0
        self._refusal = None

    def _observe(self, model: str | None, events: list[LaneEvent]) -> None:
        if model and model != self._model:
            self._model = model
            events.append(ModelObserved(model=model))

    def _system(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        subtype = item.get("subtype")
        if subtype == "init":
            if (model := as_word(item.get("model"))) and model != self._model:
                events.append(ModelObserved(model=model, announced=True))
        elif subtype == "retry":
            data = as_object(item.get("data"))
            attempt = as_count(data.get("attempt"))
            if attempt is None or attempt <= self._attempt:
                return  # the end of a wait, or one that stderr has told already
            self._attempt = attempt
            delay_ms = as_number(data.get("delayMs"))
            events.append(Retrying(attempt=attempt, delay_s=None if delay_ms is None else delay_ms / 1000))
            self._give_up(events)

    def _assistant(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        message = as_object(item.get("message"))
        own = item.get("parent_tool_use_id") is None
        for entry in as_list(message.get("content")):
            block = as_object(entry)
            kind, text = block.get("type"), as_text(block.get("text"))
            if kind == "text" and text and text.startswith(OWN_ERRORS):
                continue
            self._heard()
            if own:
                self._observe(as_word(message.get("model")), events)
            if kind == "text" and text:
                events.append(Spoke(text=text) if own else Thought(chars=len(text)))
            elif kind == "thinking":
                events.append(Thought(chars=len(as_text(block.get("thinking")) or "")))
            elif kind == "tool_use":
                self._tool(block, events)

    def _tool(self, block: Mapping[str, Any], events: list[LaneEvent]) -> None:
        name = as_word(block.get("name")) or "tool"
        keep_call(self._calls, as_word(block.get("id")), name)
        events.append(tool_called(name, block.get("input"), TOOLS, _TARGETS))

    def _user(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        for entry in as_list(as_object(item.get("message")).get("content")):
            block = as_object(entry)
            if block.get("type") == "tool_result":
                self._heard()
                self._tool_ended(block, events)

    def _tool_ended(self, block: Mapping[str, Any], events: list[LaneEvent]) -> None:
        call = as_word(block.get("tool_use_id")) or ""
        failed = block.get("is_error") is True
        said = _plain(block.get("content"))
        denied = failed and said is not None and any(words in said for words in REFUSALS)
        if denied:
            keep_call(self._denied, call, None)
        excerpt = clip(said, EXCERPT_CHARS) if said and failed else None
        events.append(ToolFinished(name=self._calls.pop(call, None), ok=not failed, denied=denied, excerpt=excerpt))

    def _piece(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        """Read a piece of a message (``--include-partial-messages``); the whole follows as ``assistant``."""
        delta = as_object(as_object(item.get("event")).get("delta"))
        if text := as_text(delta.get("text")):
            self._heard()
            own = item.get("parent_tool_use_id") is None
            events.append(Spoke(text=text, partial=True) if own else Thought(chars=len(text)))
        elif thought := as_text(delta.get("thinking")):
            self._heard()
            events.append(Thought(chars=len(thought)))

    def _result(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        for row in as_list(item.get("permission_denials")):
            denial = as_object(row)
            if as_word(denial.get("tool_use_id")) not in self._denied:
                events.append(Denied(name=as_word(denial.get("tool_name"))))
        if (usage := _usage(as_object(item.get("usage")))) is not None:
            events.append(UsageReported(usage=usage))
        if item.get("is_error") is False:
            self.end_turn(TurnEnded(ok=True, text=as_text(item.get("result"))), events)
            return
        said = as_text(as_object(item.get("error")).get("message"), MESSAGE_CHARS)
        failure = (failures.by_words(said, PHRASES) if said else None) or FailureKind.TASK
        message = said or as_word(item.get("subtype"))
        self.end_turn(TurnEnded(ok=False, failure=failure, message=message), events)


def _plain(content: object) -> str | None:
    """Return a tool result's words: a string, or the first text of its blocks."""
    if isinstance(content, str):
        return as_text(content, 4 * EXCERPT_CHARS)
    for entry in as_list(content):
        if (text := as_text(as_object(entry).get("text"), 4 * EXCERPT_CHARS)) is not None:
            return text
    return None


def _usage(usage: Mapping[str, Any]) -> TokenUsage | None:
    """Return the turn's sum; all zeros come from a turn that failed, and are no count."""
    total, output = as_count(usage.get("input_tokens")), as_count(usage.get("output_tokens"))
    if not total and not output:
        return None
    cached = as_count(usage.get("cache_read_input_tokens"))
    fresh = None if total is None else max(0, total - (cached or 0))
    return TokenUsage(input=fresh, cached_input=cached, output=output)
