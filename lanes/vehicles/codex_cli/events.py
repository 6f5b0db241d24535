"""What ``codex exec --json`` prints, as events. Seen on 0.171.0.

Final is ``turn.completed`` or ``turn.failed``; an ``error`` line is not (reconnections are told that
way). The stream never names the model. A refused patch gives no event at all: only stderr tells.
Models in code mode print the same shapes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ....messages.job import ExitStatus, TokenUsage
from ....messages.lane_events import (
    ConversationStarted,
    Denied,
    FailureKind,
    LaneEvent,
    Retrying,
    Spoke,
    Thought,
    ToolCalled,
    ToolFinished,
    ToolKind,
    TurnEnded,
    UsageReported,
)
from ... import failures
from ...framing import LongLine
from ...jsonl import JsonLinesParser
from ...text import ending_kind
from ...tool_calls import keep_call
from ...values import (
    EXCERPT_CHARS,
    MESSAGE_CHARS,
    TARGET_CHARS,
    as_count,
    as_list,
    as_object,
    as_text,
    as_word,
    clip,
)
from .retries import NEEDLE, asleep

REFUSED_PATCH = b"patch rejected"
NOT_STARTED = (
    "error: unexpected argument",
    "error: invalid value",
    "not inside a trusted directory",
    "error loading config",
)
READ_ONLY_WALL = "read-only file system"

CHATTER = ("WARNING: proceeding, even though we could not create PATH aliases", "Reading additional input from stdin")
"""Starts of stderr lines that say nothing about how the turn went."""

_RECONNECTING = re.compile(r"Reconnecting\.\.\. (?:(\d{1,4})/\d{1,4})?")
_MOST_CHANGES = 50
_OTHER_ITEMS = frozenset({"mcp_tool_call", "web_search", "todo_list", "collab_tool_call", "image_view"})


class CodexParser(JsonLinesParser):
    """Reads the JSON lines; the last message is the answer."""

    types = frozenset(
        {
            b"thread.started",
            b"turn.started",
            b"turn.completed",
            b"turn.failed",
            b"item.started",
            b"item.updated",
            b"item.completed",
            b"error",
        }
    )
    error_needles = (REFUSED_PATCH, NEEDLE)

    def __init__(self) -> None:
        """Start before the first line."""
        super().__init__()
        self._answer: str | None = None
        self._last_error: str | None = None
        self._asleep = False
        self._started: dict[str, None] = {}
        self._read = {
            "thread.started": self._thread,
            "turn.started": self._turn,
            "turn.completed": self._completed,
            "turn.failed": self._failed,
            "item.started": self._item_started,
            "item.updated": self._item_updated,
            "item.completed": self._item_completed,
            "error": self._error,
        }

    def on_long_line(self, line: LongLine, events: list[LaneEvent]) -> bool:
        """Take an over-long item as a sign of life; final events are never that long."""
        if not line.head.startswith(b'{"type":"item.'):
            return False
        events.append(Thought(chars=0))
        return True

    def on_error_line(self, text: str, events: list[LaneEvent]) -> None:
        """Append a refusal that only stderr tells, or the end of a turn that is put off for long.

        The latter is our reading, not Codex's final event: a delegate that is heard again reopens the turn.
        """
        if NEEDLE.decode() in text:
            if (pause := asleep(text)) is not None and not self._asleep:
                message = clip(pause.message, MESSAGE_CHARS)
                end = TurnEnded(ok=False, text=self._answer, failure=pause.failure, message=message, until=pause.until)
                self.end_turn(end, events)
                self._asleep = True
            return
        events.append(Denied(name="apply_patch", excerpt=clip(text.rpartition("error=")[2], EXCERPT_CHARS)))

    def begin_turn(self) -> None:
        """Note that the delegate is at work (again)."""
        self._asleep = False
        super().begin_turn()

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        """Return the end of a turn that was never completed."""
        kind = ending_kind(exit_status)
        tail = self._last_error or self._complaint()
        if kind is FailureKind.TASK:
            said = failures.normal(tail)
            started = not any(words in said for words in NOT_STARTED)
            kind = (failures.by_words(tail) or kind) if started else FailureKind.LAUNCH
        message = tail or "Codex ended without turn.completed"
        return TurnEnded(
            ok=False, text=self._answer, failure=kind, message=clip(message, MESSAGE_CHARS), synthetic=True
        )

    def _complaint(self) -> str:
        lines = (
            line for line in self.err_tail.splitlines() if not line.startswith(CHATTER) and NEEDLE.decode() not in line
        )
        return "\n".join(lines).strip()

    def _thread(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if thread := as_word(item.get("thread_id")):
            events.append(ConversationStarted(conversation=thread))

    def _turn(self, _item: Mapping[str, Any], _events: list[LaneEvent]) -> None:
        self._answer = None
        self._last_error = None
        self.begin_turn()

    def _completed(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if (usage := usage_of(as_object(item.get("usage")))) is not None:
            # Seen with 0.171.0: a resumed thread's usage begins with what its earlier turns used.
            events.append(UsageReported(usage=usage, whole_conversation=True))
        self.end_turn(TurnEnded(ok=True, text=self._answer), events)

    def _failed(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        said = as_text(as_object(item.get("error")).get("message"), MESSAGE_CHARS) or self._last_error
        failure = (failures.by_words(said) if said else None) or FailureKind.TASK
        self.end_turn(TurnEnded(ok=False, text=self._answer, failure=failure, message=said), events)

    def _error(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        said = as_text(item.get("message"), MESSAGE_CHARS) or ""
        match = _RECONNECTING.match(said)
        if match is None:
            self._last_error = said or None
            return
        if self._asleep:  # the two outputs come in any order
            return
        attempt = int(match[1]) if match[1] else None
        message = clip(said, EXCERPT_CHARS)
        events.append(Retrying(attempt=attempt, status=failures.status_in(said), message=message))

    def _item_started(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        body = as_object(item.get("item"))
        self.begin_turn()
        if (name := as_word(body.get("id"))) is not None:
            keep_call(self._started, name, None)
        self._call(body, events)

    def _item_updated(self, _item: Mapping[str, Any], _events: list[LaneEvent]) -> None:
        self.begin_turn()

    def _item_completed(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        body = as_object(item.get("item"))
        kind = body.get("type")
        self.begin_turn()
        if kind == "agent_message":
            text = as_text(body.get("text"))
            if text:
                self._answer = text
                events.append(Spoke(text=text))
        elif kind == "reasoning":
            events.append(Thought(chars=len(as_text(body.get("text")) or "")))
        elif kind == "error":
            self._last_error = as_text(body.get("message"), MESSAGE_CHARS)
        else:
            self._tool_ended(body, events)

    def _call(self, body: Mapping[str, Any], events: list[LaneEvent]) -> None:
        kind = as_word(body.get("type")) or "item"
        if kind == "command_execution":
            target = as_word(body.get("command"), TARGET_CHARS)
            events.append(ToolCalled(tool=ToolKind.EXECUTE, name=kind, target=target))
        elif kind == "file_change":
            changes = as_list(body.get("changes"))[:_MOST_CHANGES] or [{}]
            targets = [as_word(as_object(change).get("path"), TARGET_CHARS) for change in changes]
            events.extend(ToolCalled(tool=ToolKind.WRITE, name=kind, target=target) for target in targets)
        elif kind in _OTHER_ITEMS:
            name = as_word(body.get("tool")) or kind
            events.append(ToolCalled(tool=ToolKind.OTHER, name=name, target=as_word(body.get("query"))))

    def _tool_ended(self, body: Mapping[str, Any], events: list[LaneEvent]) -> None:
        calls: list[LaneEvent] = []
        self._call(body, calls)
        name = as_word(body.get("id"))
        if name is None or name not in self._started:
            events.extend(calls)  # it ended at once: only its end was told
        elif name is not None:
            del self._started[name]
        output = as_text(body.get("aggregated_output"), 4 * EXCERPT_CHARS) or ""
        code = as_count(body.get("exit_code"))
        status = body.get("status")
        failed = status in ("failed", "declined") or code not in (0, None)
        denied = status == "declined" or (failed and READ_ONLY_WALL in output.lower())
        excerpt = clip(output, EXCERPT_CHARS) if failed and output else None
        events.extend(
            ToolFinished(name=call.name, ok=not failed, denied=denied, excerpt=excerpt)
            for call in calls
            if isinstance(call, ToolCalled)
        )


def usage_of(usage: Mapping[str, Any]) -> TokenUsage | None:
    """Return a sum as Codex counts it. Codex counts cached tokens within ``input_tokens``; here they are apart."""
    if not usage:
        return None
    total = as_count(usage.get("input_tokens"))
    cached = as_count(usage.get("cached_input_tokens"))
    return TokenUsage(
        input=None if total is None else max(0, total - (cached or 0)),
        cached_input=cached,
        cache_write=as_count(usage.get("cache_write_input_tokens")),
        output=as_count(usage.get("output_tokens")),
        reasoning=as_count(usage.get("reasoning_output_tokens")),
    )
