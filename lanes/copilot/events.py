"""What ``copilot --output-format json`` prints, as events. Seen on 1.0.102.

Kinds are dotted (``assistant.message``, ``tool.execution_start``). Final is ``result``: its exit code
decides, and the ``session.error`` before it says why. A failed request is ``model.call_failure``; only
``assistant.turn_retry`` after it says that it is tried again. The stream tells no tokens: they are in the
file that ``--usage-output-file`` names, written at the end, also after a failure.
"""

from __future__ import annotations

import json
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
    ToolKind,
    TurnEnded,
)
from .. import failures
from ..contract import Stream
from ..framing import LongLine
from ..jsonl import JsonLinesParser, tool_called
from ..text import ending_kind
from ..tool_calls import keep_call
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
from .usage import reported

FAMILIES = frozenset(
    {b"assistant", b"hook", b"mcp", b"model", b"permission", b"session", b"skill", b"subagent", b"system", b"tool"}
    | {b"user"}
)
"""What stands before the dot; there are over a hundred kinds, most of which say nothing about the work."""

TOOLS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("view", "grep", "glob", "semantic_code_search"), ToolKind.READ),
    **dict.fromkeys(("create", "edit", "apply_patch"), ToolKind.WRITE),
    "bash": ToolKind.EXECUTE,
}
_TARGETS = ("path", "command", "pattern", "url", "query", "description")

BY_ERROR: Mapping[str, FailureKind] = {
    "authentication": FailureKind.AUTH,
    "authorization": FailureKind.AUTH,
    "quota": FailureKind.PLAN_LIMIT,
    "rate_limit": FailureKind.RATE_LIMIT,
}
"""``errorType`` of ``session.error``. Seen: authentication, rate_limit, and query (anything else)."""

PHRASES: failures.Phrases = ((FailureKind.AUTH, ("no authentication information found.",)),)
"""Its words on stderr where it ends before the first line."""

NO_SUCH_TOOL = "does not exist."
_BODY_CHARS = 8 * 1024


class CopilotParser(JsonLinesParser):
    """Reads the JSON lines; the last message is the answer."""

    types = frozenset({b"result"})

    def __init__(self) -> None:
        """Start before the first line."""
        super().__init__()
        self._answer: str | None = None
        self._model: str | None = None
        self._calls: dict[str, str] = {}
        self._failure: Mapping[str, Any] = {}
        self._error: Mapping[str, Any] = {}
        self._read = {
            "assistant.turn_start": self._turn,
            "assistant.message_delta": self._piece,
            "assistant.message": self._message,
            "assistant.reasoning": self._reasoning,
            "assistant.reasoning_delta": self._reasoning,
            "assistant.turn_retry": self._retry,
            "tool.execution_start": self._tool,
            "tool.execution_complete": self._tool_result,
            "model.call_failure": self._call_failed,
            "session.error": self._failed,
        }

    def on_object(self, item: Mapping[str, Any], events: list[LaneEvent]) -> bool:
        """Append the events of one line."""
        kind = item.get("type")
        if not isinstance(kind, str):
            return False
        if kind == "result":
            self._result(item, events)
        elif (read := self._read.get(kind)) is not None:
            read(as_object(item.get("data")), events)
        else:
            return "." in kind and not self._foreign(f'{{"type":"{kind}"'.encode("utf-8", "replace"))
        return True

    def feed(self, data: bytes, stream: Stream = Stream.OUT) -> list[LaneEvent]:
        """Return the events that ``data`` completes."""
        return reported(data) if stream is Stream.REPORT else super().feed(data, stream)

    def on_long_line(self, line: LongLine, events: list[LaneEvent]) -> bool:
        """Take an over-long line of a known family as a sign of life; the final one is never that long."""
        if self._foreign(line.head[:128]):
            return False
        if line.head.startswith((b'{"type":"assistant.', b'{"type":"tool.')):
            events.append(Thought(chars=0))
        return True

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        """Return the end of a turn without a result line."""
        if self._error:
            return self._ending(synthetic=True)
        kind = ending_kind(exit_status)
        tail = self.err_tail.strip()
        if kind is FailureKind.TASK and self._failure:
            return self._ending(synthetic=True)
        if kind is FailureKind.TASK and tail:
            refused = "error: unknown option" in failures.normal(tail)
            kind = FailureKind.LAUNCH if refused else failures.by_words(tail, PHRASES) or kind
        message = clip(tail or "Copilot ended without its result line", MESSAGE_CHARS)
        return TurnEnded(ok=False, text=self._answer, failure=kind, message=message, synthetic=True)

    def _foreign(self, raw: bytes) -> bool:
        """Whether a line's kind comes first and is of no family of ours."""
        family, dot, _rest = raw.partition(b'"type":"')[2].partition(b'"')[0].partition(b".")
        return (family not in FAMILIES if dot else family not in self.types) and b"\\" not in family

    def _turn(self, _data: Mapping[str, Any], _events: list[LaneEvent]) -> None:
        self.begin_turn()
        self._error = {}

    def _piece(self, data: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if text := as_text(data.get("deltaContent")):
            own = data.get("parentToolCallId") is None
            events.append(Spoke(text=text, partial=True) if own else Thought(chars=len(text)))

    def _message(self, data: Mapping[str, Any], events: list[LaneEvent]) -> None:
        own = data.get("parentToolCallId") is None
        model = as_word(data.get("model"))
        if own and model and model != self._model:
            self._model = model
            events.append(ModelObserved(model=model))
        self._error, self._failure = {}, {}  # whatever it was, it went on
        text = as_text(data.get("content"))
        if not text:
            events.append(Thought())
        elif own:
            self._answer = text
            events.append(Spoke(text=text))
        else:
            events.append(Thought(chars=len(text)))

    def _reasoning(self, data: Mapping[str, Any], events: list[LaneEvent]) -> None:
        text = as_text(data.get("content")) or as_text(data.get("deltaContent")) or ""
        events.append(Thought(chars=len(text)))

    def _tool(self, data: Mapping[str, Any], events: list[LaneEvent]) -> None:
        name = as_word(data.get("toolName")) or "tool"
        keep_call(self._calls, as_word(data.get("toolCallId")), name)
        events.append(tool_called(name, data.get("arguments"), TOOLS, _TARGETS))

    def _tool_result(self, data: Mapping[str, Any], events: list[LaneEvent]) -> None:
        ok = data.get("success") is True
        error = as_object(data.get("error"))
        said = as_text(error.get("message"), 4 * EXCERPT_CHARS) or ""
        missing = said.startswith("Tool '") and said.endswith(NO_SUCH_TOOL)
        events.append(
            ToolFinished(
                name=self._calls.pop(as_word(data.get("toolCallId")) or "", None),
                ok=ok,
                denied=not ok and (error.get("code") == "denied" or missing),
                excerpt=clip(said, EXCERPT_CHARS) if said and not ok else None,
            )
        )

    def _call_failed(self, data: Mapping[str, Any], _events: list[LaneEvent]) -> None:
        self._failure = data

    def _retry(self, data: Mapping[str, Any], events: list[LaneEvent]) -> None:
        before = as_count(self._failure.get("retryAttempt"))
        events.append(
            Retrying(
                attempt=None if before is None else before + 1,
                status=as_count(self._failure.get("statusCode")),
                message=as_word(data.get("reason"), EXCERPT_CHARS),
            )
        )

    def _failed(self, data: Mapping[str, Any], _events: list[LaneEvent]) -> None:
        self._error = data

    def _result(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if conversation := as_word(item.get("sessionId")):
            events.append(ConversationStarted(conversation=conversation))
        if as_count(item.get("exitCode")) == 0 and not self._error:
            self.end_turn(TurnEnded(ok=True, text=self._answer), events)
        else:
            self.end_turn(self._ending(), events)

    def _ending(self, *, synthetic: bool = False) -> TurnEnded:
        said = as_text(self._error.get("message"), MESSAGE_CHARS) or ""
        # A result that no session.error precedes: the last call, if it failed, tells why.
        failure = _kind(self._error or {"statusCode": self._failure.get("statusCode")}, said)
        limited = failure in (FailureKind.PLAN_LIMIT, FailureKind.RATE_LIMIT)
        return TurnEnded(
            ok=False,
            text=self._answer,
            failure=failure,
            message=said or None,
            until=_until(self._failure) if limited else None,
            synthetic=synthetic,
        )


def _kind(error: Mapping[str, Any], said: str) -> FailureKind:
    """Return why it failed. A spent plan comes as an ordinary rate limit whose words tell."""
    told = failures.by_words(said) if said else None
    if told is FailureKind.PLAN_LIMIT:
        return told
    named = BY_ERROR.get(as_word(error.get("errorType")) or "")
    return named or failures.by_status(as_count(error.get("statusCode"))) or told or FailureKind.TASK


def _until(failure: Mapping[str, Any]) -> float | None:
    """Return when a limit resets (epoch seconds), where the provider's own error object says so."""
    try:
        error = json.loads(as_text(failure.get("errorMessage"), _BODY_CHARS) or "")
    except (ValueError, RecursionError):
        return None
    return as_number(as_object(error).get("resets_at"))
