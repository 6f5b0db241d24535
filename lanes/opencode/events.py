"""What ``opencode run --format json`` prints, as events. Seen on 1.18.33.

There is no summary: ``step_finish`` with the reason ``stop`` ends a turn, an ``error`` line fails it,
and a step after either is a turn of its own. A part is printed when it is complete, so a long answer
comes as one line; retries are told by its log alone (``logs.py``). The stream never names the model. A
question that nobody can answer ends the run with exit code 0: only stderr tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...messages.job import ExitStatus, TokenUsage
from ...messages.lane_events import (
    FailureKind,
    LaneEvent,
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
from ..values import (
    EXCERPT_CHARS,
    MESSAGE_CHARS,
    as_count,
    as_number,
    as_object,
    as_text,
    as_word,
    clip,
)
from .logs import STREAM_ERROR, refusal, without_log
from .phrases import PHRASES, failure_of, until_of

TOOLS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("read", "glob", "grep", "list", "lsp"), ToolKind.READ),
    **dict.fromkeys(("write", "edit", "multiedit", "patch", "apply_patch"), ToolKind.WRITE),
    "bash": ToolKind.EXECUTE,
}
_TARGETS = ("filePath", "command", "path", "pattern", "url", "query", "description")

REFUSALS = ("a rule which prevents you", "rejected permission", "unavailable tool")
"""Words of a tool's error that mean "not permitted", as opposed to "did not work"."""
READ_ONLY_WALL = "read-only file system"

REJECTED = b"auto-rejecting"
NO_AGENT = b"Falling back to default agent"
"""It runs an agent that may do everything when the one it was told is missing; a run like that never counts as good."""

NOT_STARTED = (
    "configuration is invalid",
    "configinvaliderror",
    "unknown argument",
)
CONTENDED = ("database is locked", "failed query:")
"""Seen when several start at once in one home, most of all when its database is being made there: it waits for none of
the locks that opening it needs. ``opencode acp`` then ends with code 1 before it has answered anything."""
SILENT_REASONS = frozenset({"tool-calls"})


class OpenCodeParser(JsonLinesParser):
    """Reads the JSON lines; the last text is the answer."""

    types = frozenset({b"step_start", b"text", b"reasoning", b"tool_use", b"step_finish", b"error"})
    conversation_key = "sessionID"
    error_needles = (REJECTED, NO_AGENT, STREAM_ERROR.encode())

    def __init__(self) -> None:
        """Start before the first line."""
        super().__init__()
        self._answer: str | None = None
        self._usage = TokenUsage()
        self._cash = 0.0
        self._reason: str | None = None
        self._rejected: str | None = None
        self._misled: str | None = None
        self._refused: str | None = None
        self._read = {
            "step_start": self._step,
            "text": self._text,
            "reasoning": self._thought,
            "tool_use": self._tool,
            "step_finish": self._step_end,
            "error": self._failed,
        }

    def on_long_line(self, line: LongLine, events: list[LaneEvent]) -> bool:
        """Take an over-long part as a sign of life; the end of a step is never that long."""
        if not line.head.startswith((b'{"type":"text"', b'{"type":"tool_use"', b'{"type":"reasoning"')):
            return False
        self.begin_turn()
        events.append(Thought(chars=0))
        return True

    def on_error_line(self, text: str, events: list[LaneEvent]) -> None:
        """Take what only stderr tells: a question that nobody could answer, an agent that was not taken, a retry."""
        if STREAM_ERROR in text:
            self._request_failed(refusal(text), events)
            return
        said = clip(text.strip(), MESSAGE_CHARS)
        if NO_AGENT.decode() not in text:
            self._rejected = said
            return
        self._misled = said
        self.begin_turn()
        self.end_turn(self._good_end(), events)

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        """Return the end of a turn that never came to its last step."""
        kind = ending_kind(exit_status)
        if kind is FailureKind.TASK and self._rejected is not None:
            return TurnEnded(ok=False, text=self._answer, failure=FailureKind.PERMISSION, message=self._rejected)
        tail = without_log(self.err_tail) or self._refused or ""
        message = tail or "OpenCode ended in the middle of its work"
        if kind is FailureKind.TASK and self._reason is None:
            kind = self._why_silent(failures.normal(tail)) or failures.by_words(tail) or kind
        return TurnEnded(
            ok=False, text=self._answer, failure=kind, message=clip(message, MESSAGE_CHARS), synthetic=True
        )

    def _why_silent(self, said: str) -> FailureKind | None:
        """Return what its last words tell of a start that came to nothing, or None."""
        if self._conversation is None and any(words in said for words in CONTENDED):
            return FailureKind.CONTENDED
        return FailureKind.LAUNCH if any(words in said for words in (*NOT_STARTED, *CONTENDED)) else None

    def _request_failed(self, said: str | None, events: list[LaneEvent]) -> None:
        """Read a request that failed, and may be tried again.

        A spent plan ends the turn: it is tried again after as many hours as the provider says. This is our reading,
        not its final event: an ``error`` line that does come says more, and a model that is heard reopens the turn.
        """
        if said is None:
            return
        self._refused = clip(said, MESSAGE_CHARS)
        if failures.by_words(said, PHRASES) is FailureKind.PLAN_LIMIT:
            end = TurnEnded(ok=False, text=self._answer, failure=FailureKind.PLAN_LIMIT, message=self._refused)
            self.end_turn(end, events)
        else:
            events.append(Retrying(message=clip(said, EXCERPT_CHARS)))

    def _step(self, _item: Mapping[str, Any], _events: list[LaneEvent]) -> None:
        self.begin_turn()

    def _text(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        self.begin_turn()
        if text := as_text(as_object(item.get("part")).get("text")):
            self._answer = text
            events.append(Spoke(text=text))

    def _thought(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        self.begin_turn()
        events.append(Thought(chars=len(as_text(as_object(item.get("part")).get("text")) or "")))

    def _tool(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        """Read a tool's use: it is printed once, when the tool has ended."""
        self.begin_turn()
        part = as_object(item.get("part"))
        state = as_object(part.get("state"))
        name = as_word(part.get("tool")) or "tool"
        events.append(tool_called(name, state.get("input"), TOOLS, _TARGETS))
        code = as_count(as_object(state.get("metadata")).get("exit"))
        failed = state.get("status") == "error" or code not in (0, None)
        said = as_text(state.get("error") if state.get("status") == "error" else state.get("output"), 4 * EXCERPT_CHARS)
        words = (said or "").lower()
        denied = failed and any(part in words for part in (*REFUSALS, READ_ONLY_WALL))
        excerpt = clip(said, EXCERPT_CHARS) if said and failed else None
        events.append(ToolFinished(name=name, ok=not failed, denied=denied, excerpt=excerpt))

    def _step_end(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        part = as_object(item.get("part"))
        self._count(part, events)
        self._reason = as_word(part.get("reason")) or "unknown"
        if self._reason == "stop":
            self.end_turn(self._good_end(), events)
        elif self._reason == "length":
            message = "the model's answer was cut at its length limit"
            end = TurnEnded(ok=False, text=self._answer, failure=FailureKind.OUTPUT_LIMIT, message=message)
            self.end_turn(end, events)
        elif self._reason not in SILENT_REASONS:
            message = f"the model stopped for the reason {self._reason}"
            self.end_turn(TurnEnded(ok=False, text=self._answer, failure=FailureKind.TASK, message=message), events)

    def _good_end(self) -> TurnEnded:
        """Return the end of a turn that came to its last step, unless it was another agent's than was told."""
        if self._misled is None:
            return TurnEnded(ok=True, text=self._answer)
        return TurnEnded(ok=False, text=self._answer, failure=FailureKind.LAUNCH, message=self._misled)

    def _count(self, part: Mapping[str, Any], events: list[LaneEvent]) -> None:
        """Add a step's tokens; cached ones are counted apart from ``input`` here as there."""
        tokens = as_object(part.get("tokens"))
        if not tokens:
            return
        cache = as_object(tokens.get("cache"))
        seen = self._usage
        self._usage = TokenUsage(
            input=_sum(seen.input, tokens.get("input")),
            cached_input=_sum(seen.cached_input, cache.get("read")),
            cache_write=_sum(seen.cache_write, cache.get("write")),
            output=_sum(seen.output, tokens.get("output")),
            reasoning=_sum(seen.reasoning, tokens.get("reasoning")),
        )
        self._cash += as_number(part.get("cost")) or 0.0
        # A model without a price is told as 0: what it costs is not known then.
        events.append(UsageReported(usage=self._usage, cash_usd=self._cash or None))

    def _failed(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        error = as_object(item.get("error"))
        data = as_object(error.get("data"))
        said = as_text(data.get("message"), MESSAGE_CHARS) or as_word(error.get("name"))
        failure = failure_of(error)
        if self._refused is not None:
            self.begin_turn()  # the log told of it first, and less
        limited = failure in (FailureKind.PLAN_LIMIT, FailureKind.RATE_LIMIT)
        self.end_turn(
            TurnEnded(
                ok=False,
                text=self._answer,
                failure=failure,
                message=said,
                until=until_of(data) if limited else None,
            ),
            events,
        )


def _sum(so_far: int | None, more: object) -> int | None:
    count = as_count(more)
    return so_far if count is None else (so_far or 0) + count
