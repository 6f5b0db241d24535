"""What ``claude -p --output-format stream-json --verbose`` prints, as events. Seen on 2.1.332.

Final is the ``result`` line, and ``is_error`` in it decides, never ``subtype`` (an API error comes as
``subtype: success``). ``--output-format json`` prints that line alone and is read the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....messages.job import ExitStatus, TokenUsage
from ....messages.lane_events import (
    Denied,
    FailureKind,
    GenerationNamed,
    LaneEvent,
    LimitReported,
    LimitWindow,
    ModelObserved,
    Retrying,
    Spoke,
    Thought,
    ToolFinished,
    TurnEnded,
    UsageReported,
)
from ... import failures
from ...framing import LongLine
from ...jsonl import JsonLinesParser, tool_called
from ...text import ending_kind
from ...tool_calls import keep_call
from ...values import (
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
from .meter import Meter
from .phrases import CONNECTION
from .tools import REFUSALS, TARGETS, TOOLS

SYNTHETIC_MODEL = "<synthetic>"
_GENERATION = "gen-"
"""How the message ids of OpenRouter's answers start; Anthropic's start with ``msg_``."""
_SILENT = frozenset({"keep_alive", "control_request", "control_response", "control_cancel_request", "tool_progress"})


class ClaudeParser(JsonLinesParser):
    """Reads stream-json. Words of sub-agents are a sign of life, not the delegate's own."""

    types = frozenset(
        {b"system", b"assistant", b"user", b"result", b"rate_limit_event", b"stream_event"}
        | {kind.encode() for kind in _SILENT}
    )
    silent = _SILENT
    conversation_key = "session_id"

    def __init__(self) -> None:
        """Start before the first line."""
        super().__init__()
        self._model: str | None = None
        self._generation: str | None = None
        self._meter = Meter()
        self._calls: dict[str, str] = {}
        self._denied: dict[str, None] = {}
        self._limit_ends: float | None = None
        self._read = {
            "assistant": self._assistant,
            "user": self._user,
            "result": self._result,
            "rate_limit_event": self._limit,
            "stream_event": self._piece,
        }

    def on_object(self, item: Mapping[str, Any], events: list[LaneEvent]) -> bool:
        """Append the events of one line."""
        if item.get("type") == "system":
            self._system(item, events)
            return True
        return super().on_object(item, events)

    def on_long_line(self, line: LongLine, events: list[LaneEvent]) -> bool:
        """Take what a line over the cap shows at its ends: its kind, and of a result how it went."""
        ends = line.head[:4096] + line.tail
        if b'"type":"result"' in ends and (b'"is_error":false' in line.head or b'"is_error":true' in line.head):
            ok = b'"is_error":true' not in line.head
            message = f"its final event was {line.length} bytes long; its text is only in the log"
            failure = FailureKind.NONE if ok else FailureKind.TASK
            self.end_turn(TurnEnded(ok=ok, failure=failure, message=message), events)
            return True
        if b'"type":"assistant"' in ends:
            self.begin_turn()
            events.append(Thought(chars=0))
            return True
        return b'"type":"user"' in ends or b'"type":"system"' in ends

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        """Return the end of a turn without a result line."""
        kind = ending_kind(exit_status)
        tail = self.err_tail.strip()
        if kind is FailureKind.TASK:
            # The refusal of --dangerously-skip-permissions as root comes on stderr alone, with exit code 1.
            kind = FailureKind.LAUNCH if "cannot be used with root" in tail else failures.by_words(tail) or kind
        message = tail or "Claude Code ended without its result line"
        return TurnEnded(ok=False, failure=kind, message=clip(message, MESSAGE_CHARS), synthetic=True)

    def _observe(self, model: str | None, events: list[LaneEvent]) -> None:
        if model and model not in (self._model, SYNTHETIC_MODEL):
            self._model = model
            events.append(ModelObserved(model=model))

    def _system(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        subtype = item.get("subtype")
        if subtype == "init":
            self.begin_turn()
            self.name_conversation(item, events)
            if (model := as_word(item.get("model"))) and model != self._model:
                events.append(ModelObserved(model=model, announced=True))
        elif subtype == "api_retry":
            delay_ms = as_number(item.get("retry_delay_ms"))
            status = as_count(item.get("error_status"))
            events.append(
                Retrying(
                    attempt=as_count(item.get("attempt")),
                    status=status,
                    # A request that got no answer has no status; why not, it does not say ("unknown").
                    failure=FailureKind.TRANSPORT if status is None else None,
                    delay_s=None if delay_ms is None else delay_ms / 1000,
                    message=as_word(item.get("error"), EXCERPT_CHARS),
                )
            )
        elif subtype == "permission_denied":
            self._refused(item, events)

    def _refused(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        """Note a refusal; the tool's own result, which follows, reports it if the call is known."""
        call = as_word(item.get("tool_use_id"))
        if call is not None and call in self._calls:
            keep_call(self._denied, call, None)
        elif call is None or call not in self._denied:
            self._deny(call, as_word(item.get("tool_name")), as_text(item.get("message"), EXCERPT_CHARS), events)

    def _deny(self, call: str | None, name: str | None, excerpt: str | None, events: list[LaneEvent]) -> None:
        keep_call(self._denied, call, None)
        events.append(Denied(name=name, excerpt=excerpt))

    def _assistant(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        message = as_object(item.get("message"))
        model = as_word(message.get("model"))
        if model == SYNTHETIC_MODEL or item.get("is_api_error_message") is True:
            return  # the CLI's own error sentence; the result line repeats it
        self.begin_turn()
        own = item.get("parent_tool_use_id") is None
        if own:
            self._observe(model, events)
        self._generated(as_word(message.get("id")), events)
        self._meter.message(message, model)
        for block in as_list(message.get("content")):
            self._block(as_object(block), own, events)

    def _generated(self, message: str | None, events: list[LaneEvent]) -> None:
        """Note a message that has a receipt; each of its blocks comes as a line of its own."""
        if message is not None and message != self._generation and message.startswith(_GENERATION):
            self._generation = message
            events.append(GenerationNamed(generation=message))

    def _block(self, block: Mapping[str, Any], own: bool, events: list[LaneEvent]) -> None:
        kind = block.get("type")
        if kind == "text":
            text = as_text(block.get("text"))
            if text:
                events.append(Spoke(text=text) if own else Thought(chars=len(text)))
        elif kind == "thinking":
            events.append(Thought(chars=len(as_text(block.get("thinking")) or "")))
        elif kind == "redacted_thinking":
            events.append(Thought())
        elif kind in ("tool_use", "server_tool_use"):
            self._tool(block, events)

    def _tool(self, block: Mapping[str, Any], events: list[LaneEvent]) -> None:
        name = as_word(block.get("name")) or "tool"
        keep_call(self._calls, as_word(block.get("id")), name)
        events.append(tool_called(name, block.get("input"), TOOLS, TARGETS))

    def _user(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        if (used := self._meter.report()) is not None:  # the calls of a message are answered: it is whole
            events.append(used)
        for entry in as_list(as_object(item.get("message")).get("content")):
            block = as_object(entry)
            if block.get("type") == "tool_result":
                self._tool_result(block, events)

    def _tool_result(self, block: Mapping[str, Any], events: list[LaneEvent]) -> None:
        call = as_word(block.get("tool_use_id")) or ""
        failed = block.get("is_error") is True
        said = _plain(block.get("content"))
        known = call in self._denied
        denied = known or (failed and said is not None and any(words in said for words in REFUSALS))
        if denied and not known:
            keep_call(self._denied, call, None)
        events.append(
            ToolFinished(
                name=self._calls.pop(call, None),
                ok=not failed and not denied,
                denied=denied,
                excerpt=clip(said, EXCERPT_CHARS) if said and (failed or denied) else None,
            )
        )

    def _piece(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        """Read a piece of a message (``--include-partial-messages``); the whole follows as ``assistant``."""
        event = as_object(item.get("event"))
        delta = as_object(event.get("delta"))
        if text := as_text(delta.get("text")):
            own = item.get("parent_tool_use_id") is None
            events.append(Spoke(text=text, partial=True) if own else Thought(chars=len(text)))
        elif thought := as_text(delta.get("thinking")):
            events.append(Thought(chars=len(thought)))

    def _limit(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        info = as_object(item.get("rate_limit_info"))
        rejected = info.get("status") == "rejected"
        windows = [_window(name, as_object(row)) for name, row in as_object(info.get("unifiedWindows")).items()]
        if not windows and (name := as_word(info.get("rateLimitType"))):
            windows = [LimitWindow(name=name, resets_at=as_number(info.get("resetsAt")))]
        if rejected:
            self._limit_ends = as_number(info.get("resetsAt"))
        events.append(LimitReported(rejected=rejected, windows=tuple(windows[:16])))

    def _result(self, item: Mapping[str, Any], events: list[LaneEvent]) -> None:
        by_model = _by_model(item)
        if self._model is None and len(by_model) == 1:
            self._observe(next(iter(by_model)), events)
        for row in as_list(item.get("permission_denials")):
            denial = as_object(row)
            call = as_word(denial.get("tool_use_id"))
            if call is None or call not in self._denied:
                self._deny(call, as_word(denial.get("tool_name")), None, events)
        usage = _usage(as_object(item.get("usage")))
        if usage is not None:
            cash = as_number(item.get("total_cost_usd")) if _priced(item) else None
            events.append(UsageReported(usage=usage, by_model=by_model, cash_usd=cash))
        self.end_turn(self._ending(item), events)

    def _ending(self, item: Mapping[str, Any]) -> TurnEnded:
        text = as_text(item.get("result"))
        if item.get("is_error") is False and item.get("subtype") == "success":
            return TurnEnded(ok=True, text=text)
        said = text or "; ".join(filter(None, (as_word(row) for row in as_list(item.get("errors")))))
        failure = self._failure(item, said)
        limited = failure in (FailureKind.PLAN_LIMIT, FailureKind.RATE_LIMIT)
        return TurnEnded(
            ok=False,
            failure=failure,
            message=clip(said, MESSAGE_CHARS) if said else as_word(item.get("subtype")),
            until=(self._limit_ends or _epoch_after_bar(said)) if limited else None,
        )

    @staticmethod
    def _failure(item: Mapping[str, Any], said: str) -> FailureKind:
        reason = item.get("terminal_reason")
        if isinstance(reason, str) and reason.startswith("aborted"):
            return FailureKind.INTERRUPTED
        told = failures.by_words(said, CONNECTION)
        if told in (FailureKind.PLAN_LIMIT, FailureKind.AUTH, FailureKind.OUTPUT_LIMIT):
            return told
        return failures.by_status(as_count(item.get("api_error_status"))) or (
            told if reason == "api_error" and told else FailureKind.TASK
        )


def _plain(content: object) -> str | None:
    """Return a tool result's words: a string, or the first text of its blocks."""
    if isinstance(content, str):
        return as_text(content, 4 * EXCERPT_CHARS)
    for entry in as_list(content):
        if (text := as_text(as_object(entry).get("text"), 4 * EXCERPT_CHARS)) is not None:
            return text
    return None


def _window(name: str, row: Mapping[str, Any]) -> LimitWindow:
    return LimitWindow(
        name=as_word(name) or "window",
        utilization=as_number(row.get("utilization")),
        resets_at=as_number(row.get("resetsAt")),
    )


def _usage(usage: Mapping[str, Any]) -> TokenUsage | None:
    """Return the turn's sum; Claude counts uncached, cached and written prompt tokens apart."""
    if not usage:
        return None
    return TokenUsage(
        input=as_count(usage.get("input_tokens")),
        cached_input=as_count(usage.get("cache_read_input_tokens")),
        cache_write=as_count(usage.get("cache_creation_input_tokens")),
        output=as_count(usage.get("output_tokens")),
        reasoning=as_count(as_object(usage.get("output_tokens_details")).get("thinking_tokens")),
    )


def _by_model(item: Mapping[str, Any]) -> dict[str, TokenUsage]:
    found = {}
    for name, value in list(as_object(item.get("modelUsage")).items())[:16]:
        row = as_object(value)
        if (model := as_word(name)) is not None:
            found[model] = TokenUsage(
                input=as_count(row.get("inputTokens")),
                cached_input=as_count(row.get("cacheReadInputTokens")),
                cache_write=as_count(row.get("cacheCreationInputTokens")),
                output=as_count(row.get("outputTokens")),
                reasoning=as_count(row.get("thinkingTokens")),
            )
    return found


def _priced(item: Mapping[str, Any]) -> bool:
    """Whether Claude Code knows the price of every model it used; of a gateway's models it only guesses."""
    rows = list(as_object(item.get("modelUsage")).values())[:16]
    return all(as_object(row).get("costBasis") != "unknown" for row in rows)


def _epoch_after_bar(said: str) -> float | None:
    """Return the time in ``usage limit reached|1796031524``, the form of older versions."""
    tail = said.rpartition("|")[2].strip()
    return float(tail) if tail.isascii() and tail.isdigit() and len(tail) == 10 else None
