"""What ``gemini -o stream-json`` prints, as events. Seen on 0.61.0 (2026-11-30).

Final is the ``result`` line. The answer only exists in pieces; each tool call starts a new message.
``init`` names the model that was asked for, ``stats.models`` of the result the ones that ran. Retries
are told on stderr alone. The exit code is the HTTP status of the failed request, modulo 256.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ...messages.job import ExitStatus, TokenUsage
from ...messages.lane_events import (
    ConversationStarted,
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
from ..resets import parse_reset
from ..text import ANSWER_CAP, ending_kind
from ..tool_calls import keep_call
from ..values import EXCERPT_CHARS, MESSAGE_CHARS, as_count, as_object, as_text, as_word, clip
from .phrases import EXIT_KINDS, PHRASES, by_exit

TOOLS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("read_file", "read_many_files", "grep_search", "glob", "list_directory"), ToolKind.READ),
    **dict.fromkeys(("write_file", "replace"), ToolKind.WRITE),
    "run_shell_command": ToolKind.EXECUTE,
}
_TARGETS = ("file_path", "absolute_path", "command", "path", "dir_path", "pattern", "query", "url", "prompt")

REFUSED_TYPES = frozenset({"tool_not_registered", "policy_violation", "execution_denied"})
"""Error types of a tool result that mean "not permitted": in plan mode the shell tool is not registered."""
REFUSALS = ("Access denied: plan path", "denied by policy", "User denied", "requires user confirmation")

CHATTER = (
    "Warning: 256-color support",
    "Warning: --allowed-tools",
    "Ripgrep is not available",
    "[STARTUP]",
    "YOLO mode is enabled",
    "Loaded cached credentials",
    "Approval mode overridden",
)
"""Starts of stderr lines that say nothing about how the turn went."""

ROUTER = "lite"
"""In the name of the model that only picks another, where Gemini CLI routes by itself."""

_ATTEMPT = re.compile(r"Attempt (\d{1,3}) failed(?: with status (\d{3}))?")


class GeminiCliParser(JsonLinesParser):
    """Reads the JSON lines of one headless run."""

    types = frozenset({b"init", b"message", b"tool_use", b"tool_result", b"error", b"result"})
    error_needles = (b"Attempt ",)

    def __init__(self) -> None:
        """Start before the first line."""
        super().__init__()
        self._asked: str | None = None
        self._pieces: deque[str] = deque()
        self._kept = 0
        self._fresh = True
        self._calls: dict[str, str] = {}
        self._complaint: str | None = None
        self._read = {
            "init": self._init,
            "message": self._message,
            "tool_use": self._tool,
            "tool_result": self._tool_ended,
            "error": self._error,
            "result": self._result,
        }

    def on_long_line(self, line: LongLine, events: list[LaneEvent]) -> bool:
        """Take an over-long line as a sign of life; the result line is never that long."""
        if not line.head.startswith((b'{"type":"tool_', b'{"type":"message"')):
            return False
        events.append(Thought(chars=0))
        return True

    def on_error_line(self, text: str, events: list[LaneEvent]) -> None:
        """Append a retry; the second line of its message says how long it waits, too late to be joined."""
        match = _ATTEMPT.match(text)
        if match is not None:
            status = int(match[2]) if match[2] else (429 if "quota" in text or "rate limit" in text.lower() else None)
            events.append(Retrying(attempt=int(match[1]), status=status, message=clip(text, EXCERPT_CHARS)))

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        """Return the end of a turn without a result line."""
        lines = (line for line in self.err_tail.splitlines() if line.strip() and not line.startswith(CHATTER))
        tail = self._complaint or "\n".join(lines).strip()
        kind = ending_kind(exit_status)
        if kind is FailureKind.TASK:
            started = "Unknown argument" not in tail and "Invalid values" not in tail
            own = EXIT_KINDS.get(exit_status.code or 0) if started else FailureKind.LAUNCH
            kind = own or failures.by_words(tail, PHRASES) or by_exit(exit_status.code) or kind
        message = tail or "Gemini CLI ended without its result line"
        return TurnEnded(
            ok=False, text=self._said(), failure=kind, message=clip(message, MESSAGE_CHARS), synthetic=True
        )

    def _said(self) -> str | None:
        text = "".join(self._pieces)
        return text if text.strip() else None

    def _init(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        self.begin_turn()
        if conversation := as_word(item.get("session_id")):
            events.append(ConversationStarted(conversation=conversation))
        self._asked = as_word(item.get("model"))

    def _message(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        text = as_text(item.get("content"))
        if item.get("role") != "assistant" or not text:
            return
        self.begin_turn()
        shown = text
        if self._fresh:
            # Pieces are read as one text: what a message before a tool call left open ends here.
            shown = "\n" + text if self._pieces else text
            self._fresh = False
            self._pieces.clear()
            self._kept = 0
        self._pieces.append(text)
        self._kept += len(text)
        while self._kept - len(self._pieces[0]) >= ANSWER_CAP:
            self._kept -= len(self._pieces.popleft())
        events.append(Spoke(text=shown, partial=True))

    def _tool(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        self.begin_turn()
        self._fresh = True
        name = as_word(item.get("tool_name")) or "tool"
        keep_call(self._calls, as_word(item.get("tool_id")), name)
        events.append(tool_called(name, item.get("parameters"), TOOLS, _TARGETS))

    def _tool_ended(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        self.begin_turn()
        self._fresh = True
        error = as_object(item.get("error"))
        failed = item.get("status") == "error"
        said = as_text(error.get("message"), EXCERPT_CHARS) or as_text(item.get("output"), EXCERPT_CHARS) or ""
        kind = error.get("type")
        denied = failed and (
            (isinstance(kind, str) and kind in REFUSED_TYPES) or any(words in said for words in REFUSALS)
        )
        name = self._calls.pop(as_word(item.get("tool_id")) or "", None)
        events.append(ToolFinished(name=name, ok=not failed, denied=denied, excerpt=said if failed and said else None))

    def _error(self, item: Mapping[str, Any], _events: list[LaneEvent]) -> None:
        """Keep a warning (a loop, a spent turn count): it explains an ending, it is none."""
        self._complaint = as_text(item.get("message"), MESSAGE_CHARS)

    def _result(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        stats = as_object(item.get("stats"))
        by_model = _by_model(as_object(stats.get("models")))
        if (model := _answered(by_model, self._asked, ok=item.get("status") == "success")) is not None:
            events.append(ModelObserved(model=model))
        usage = _usage(stats)
        if usage is not None and as_count(stats.get("total_tokens")):
            events.append(UsageReported(usage=usage, by_model=by_model))
        self.end_turn(self._ending(item), events)

    def _ending(self, item: Mapping[str, Any]) -> TurnEnded:
        if item.get("status") == "success":
            return TurnEnded(ok=True, text=self._said())
        said = as_text(as_object(item.get("error")).get("message"), MESSAGE_CHARS) or self._complaint
        failure = (failures.by_words(said, PHRASES) if said else None) or FailureKind.TASK
        limited = failure in (FailureKind.PLAN_LIMIT, FailureKind.RATE_LIMIT)
        return TurnEnded(
            ok=False,
            text=self._said(),
            failure=failure,
            message=said,
            until=_until(said or "", item.get("timestamp")) if limited else None,
        )


def _until(said: str, timestamp: object) -> float | None:
    """Return when a limit ends, counted from the time that the line itself carries."""
    try:
        now = datetime.fromisoformat(timestamp if isinstance(timestamp, str) else "").timestamp()
    except (ValueError, OverflowError):
        return None
    return parse_reset(said, now, 0.0)


def _usage(row: Mapping[str, Any]) -> TokenUsage | None:
    """Return one row's sum. ``input_tokens`` holds the cached ones, ``input`` does not."""
    if not row:
        return None
    total, cached = as_count(row.get("input_tokens")), as_count(row.get("cached"))
    fresh = as_count(row.get("input"))
    if fresh is None and total is not None:
        fresh = max(0, total - (cached or 0))
    return TokenUsage(input=fresh, cached_input=cached, output=as_count(row.get("output_tokens")))


def _by_model(models: Mapping[str, Any]) -> dict[str, TokenUsage]:
    """Return the models that really ran; one whose requests all failed is listed with zeros."""
    found = {}
    for name, value in list(models.items())[:16]:
        row = as_object(value)
        usage = _usage(row)
        if (model := as_word(name)) is not None and usage is not None and as_count(row.get("total_tokens")):
            found[model] = usage
    return found


def _answered(by_model: Mapping[str, TokenUsage], asked: str | None, *, ok: bool) -> str | None:
    """Return the model that answered: the one asked for, else the last that is not the router's.

    In a failed run the router may be the only one that ever answered, and it is not the delegate.
    """
    if asked in by_model:
        return asked
    names = [name for name in by_model if ROUTER not in name]
    if not names and (ok or ROUTER in (asked or "")):
        names = list(by_model)
    return names[-1] if names else None
