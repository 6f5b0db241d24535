"""From what an agent says during one prompt turn to OSRC JSON lines (``lanes/osrc_jsonl.py``). Pure.

Believes nothing about shapes: agents send fields of their own, leave others out, and end a call that
they never announced (gemini 0.61 asks for permission first, and only tells the end).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....messages.vocabulary import FailureKind
from ... import failures
from ...tool_calls import keep_call, target_in
from ...values import (
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

Line = dict[str, Any]

KINDS: Mapping[str, str] = {
    "read": "read",
    "search": "read",
    "edit": "write",
    "delete": "write",
    "move": "write",
    "execute": "execute",
}
"""The protocol's tool kinds as ours; any other is ``other``."""

AUTH_REQUIRED = -32000
PHRASES: failures.Phrases = ((FailureKind.PLAN_LIMIT, ("you have exhausted your daily quota", "insufficient_quota.")),)
"""gemini 0.61.0 (2026-11-30)."""

REASONS: Mapping[str, tuple[FailureKind, str]] = {
    "cancelled": (FailureKind.INTERRUPTED, "the agent canceled the turn"),
    "max_tokens": (FailureKind.OUTPUT_LIMIT, "the model stopped at its output limit"),
    "max_turn_requests": (FailureKind.TASK, "the agent stopped at its own limit of model requests"),
    "refusal": (FailureKind.TASK, "the model refused to go on"),
}
"""Stop reasons that are no good end."""

MESSAGE_CAP = 4 * 1024 * 1024
_DEPTH = 6


@dataclass(slots=True)
class Call:
    """A tool call, as far as it was told."""

    kind: str | None = None
    name: str | None = None
    target: str | None = None
    told: bool = False
    ended: bool = False


class Turn:
    """One prompt turn. Every method returns the lines to print."""

    def __init__(self) -> None:
        """Nothing has been said yet."""
        self.denials = 0
        self.answer: str | None = None
        """The last whole message."""
        self._calls: dict[str, Call] = {}
        self._pieces: list[str] = []
        self._chars = 0
        self._message: str | None = None
        self._silent_since_denial = False
        self._cost: float | None = None
        self._model: str | None = None

    def model(self, name: str | None) -> list[Line]:
        """Note which model answers, as often as it changes."""
        if name is None or name == self._model:
            return []
        self._model = name
        return [{"type": "start", "model": name}]

    def update(self, value: object) -> list[Line]:
        """Take the ``update`` of one ``session/update`` notification."""
        update = as_object(value)
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                return self._said(update)
            case "agent_thought_chunk":
                text = as_object(update.get("content")).get("text")
                return [{"type": "thought", "chars": len(text) if isinstance(text, str) else 0}]
            case "plan":
                return [{"type": "thought", "chars": 0}]
            case "tool_call" | "tool_call_update":
                return self._call_update(update)
            case "usage_update":
                return self._usage_update(update)
            case _:
                return []

    def permission(self, value: object, *, granted: bool) -> list[Line]:
        """Take a permission request's ``toolCall`` and how it was answered."""
        update = as_object(value)
        call = self._call(update)
        call.target = call.target or as_word(update.get("title"), TARGET_CHARS)
        lines = [*self._whole(), *self._tell(call)]
        if granted:
            return lines
        self.denials += 1
        self._silent_since_denial = True
        call.ended = True
        return [*lines, {"type": "tool_end", "name": _name(call), "ok": False, "denied": True, "excerpt": call.target}]

    def kind_of(self, value: object) -> str | None:
        """Return the kind of the tool that a permission request is about, from it or from what came before."""
        return self._call(as_object(value)).kind

    def end(self, value: object, *, canceled: bool = False) -> list[Line]:
        """Take the answer to ``session/prompt``: tokens, and how the turn ended."""
        result = as_object(value)
        lines = self._whole()
        lines += self.model(_last_model(result))
        if usage := usage_of(result) | ({"cash_usd": self._cost} if self._cost is not None else {}):
            lines.append({"type": "usage", **usage})
        trouble = self._trouble(result.get("stopReason"), canceled=canceled)
        if trouble is not None:
            kind, message = trouble
            return [
                *lines,
                {"type": "end", "ok": False, "failure": kind.value, "message": message, "text": self.answer},
            ]
        return [*lines, {"type": "end", "ok": True, "text": self.answer}]

    def failed(self, failure: FailureKind, message: str) -> list[Line]:
        """End the turn for a reason that lies outside of it."""
        end = {"type": "end", "ok": False, "failure": failure.value, "message": clip(message, MESSAGE_CHARS)}
        return [*self._whole(), end | {"text": self.answer}]

    def _trouble(self, reason: object, *, canceled: bool) -> tuple[FailureKind, str] | None:
        if canceled:
            return FailureKind.INTERRUPTED, "the turn was canceled"
        if reason == "end_turn":
            # qwen, opencode, droid and copilot end the turn without a word (seen 2026-11-30).
            refused = FailureKind.PERMISSION, "the agent ended its turn when a permission was refused"
            return refused if self._silent_since_denial else None
        if reason == "cancelled" and self.denials:  # codex-acp 0.16
            return FailureKind.PERMISSION, "the agent gave up when a permission was refused"
        said = f"the agent ended its turn with {as_word(reason) or 'no reason'}"
        return REASONS.get(reason, (FailureKind.TASK, said)) if isinstance(reason, str) else (FailureKind.TASK, said)

    def _said(self, update: Mapping[str, Any]) -> list[Line]:
        content = as_object(update.get("content"))
        text = as_text(content.get("text"), MESSAGE_CAP) if content.get("type") == "text" else None
        if not text:
            return []
        message = as_word(update.get("messageId"))
        lines = self._whole() if message != self._message else []
        self._message = message
        self._silent_since_denial = self._silent_since_denial and not text.strip()
        if self._chars < MESSAGE_CAP:
            self._pieces.append(text)
            self._chars += len(text)
        return [*lines, {"type": "text", "text": text, "partial": True}]

    def _whole(self) -> list[Line]:
        """End the message that was being said."""
        text = "".join(self._pieces)
        self._pieces.clear()
        self._chars = 0
        if not text.strip():
            return []
        self.answer = text
        return [{"type": "text", "text": text, "partial": False}]

    def _call(self, update: Mapping[str, Any]) -> Call:
        name = as_word(update.get("toolCallId"), 512) or ""
        call = self._calls.pop(name, None) or Call()
        keep_call(self._calls, name, call)
        call.kind = as_word(update.get("kind")) or call.kind
        call.name = as_word(update.get("name")) or call.name or _tool_name(as_object(update.get("_meta")))
        call.target = _target(update) or call.target
        return call

    def _call_update(self, update: Mapping[str, Any]) -> list[Line]:
        call = self._call(update)
        status = update.get("status")
        done = status in ("completed", "failed")
        # A call is first told while its input still streams in: it is worth a line once it has one.
        worth = call.target is not None or status == "in_progress" or done
        lines = self._whole() if not call.told and not call.ended else []
        lines += self._tell(call) if worth else []
        if done and not call.ended:
            call.ended = True
            excerpt = _excerpt(update) if status == "failed" else None
            lines.append({"type": "tool_end", "name": _name(call), "ok": status == "completed", "excerpt": excerpt})
        return lines

    def _tell(self, call: Call) -> list[Line]:
        if call.told:
            return []
        call.told = True
        tool = KINDS.get(call.kind or "", "other")
        return [{"type": "tool", "tool": tool, "name": _name(call), "target": call.target}]

    def _usage_update(self, update: Mapping[str, Any]) -> list[Line]:
        cost = as_object(update.get("cost"))
        if cost.get("currency") == "USD" and (amount := as_number(cost.get("amount"))) is not None:
            self._cost = amount
        meta = as_object(update.get("_meta"))
        return self.model(next((as_word(value) for key, value in meta.items() if key.endswith("/model")), None))


_GENERIC = "internal error:"


def usage_of(result: Mapping[str, Any]) -> Line:
    """Return a turn's tokens; a count that was not told is left out.

    Some count cached tokens within the input (copilot 1.0.102), some beside it (claude-agent-acp
    0.101): where the total is the sum of input and output alone, they are within.
    """
    usage = as_object(result.get("usage"))
    quota = as_object(as_object(as_object(result.get("_meta")).get("quota")).get("token_count"))
    counts = {
        "input": _first(usage.get("inputTokens"), quota.get("input_tokens")),
        "cached_input": _first(usage.get("cachedReadTokens"), quota.get("cached_tokens")),
        "cache_write": _first(usage.get("cachedWriteTokens")),
        "output": _first(usage.get("outputTokens"), quota.get("output_tokens")),
        "reasoning": _first(usage.get("thoughtTokens")),
    }
    given, cached, output = counts["input"], counts["cached_input"], counts["output"]
    if given is not None and cached and as_count(usage.get("totalTokens")) == given + (output or 0):
        counts["input"] = max(0, given - cached)
    return {name: count for name, count in counts.items() if count is not None}


def failure_of(code: object, message: str, data: object) -> tuple[FailureKind, str]:
    """Return what a JSON-RPC error means, and its words: the error's own and those inside its data."""
    inner = _inner_words(data)
    said = message if not inner or inner in message else f"{message}: {inner}"
    if code == AUTH_REQUIRED:
        return FailureKind.AUTH, said
    status = code if isinstance(code, int) and 400 <= code <= 599 else _status_in(data, _DEPTH)
    # Qwen Code 0.24.4 and OpenCode 1.18.33 put the provider's words, and its HTTP status, behind "Internal error: ".
    words = said[len(_GENERIC) :].strip() if said.lower().startswith(_GENERIC) else said
    told = failures.by_words(f"Error: {words}", PHRASES)
    if told is not FailureKind.PLAN_LIMIT:
        told = failures.by_status(failures.leading_status(words)) or told
    return told or failures.by_status(status) or FailureKind.TASK, said


def _first(*values: object) -> int | None:
    return next((count for value in values if (count := as_count(value)) is not None), None)


def _last_model(result: Mapping[str, Any]) -> str | None:
    """Return the model named first among those that were used and are no mere word for "you choose"."""
    quota = as_object(as_object(result.get("_meta")).get("quota"))
    names = (as_word(as_object(row).get("model")) for row in as_list(quota.get("model_usage")))
    return next((name for name in names if name not in (None, "auto", "default")), None)


def _tool_name(meta: Mapping[str, Any]) -> str | None:
    """Return the tool's own name, which some put into their ``_meta``, one level down or not."""
    rows = (meta, *(as_object(value) for value in list(meta.values())[:8]))
    return next((name for row in rows if (name := as_word(row.get("toolName")))), None)


def _name(call: Call) -> str:
    return call.name or call.kind or "tool"


def _target(update: Mapping[str, Any]) -> str | None:
    given = as_object(update.get("rawInput"))
    if command := as_word(given.get("command"), TARGET_CHARS):
        return command
    for row in map(as_object, as_list(update.get("locations"))):
        if path := as_word(row.get("path"), TARGET_CHARS):
            return path
    keys = ("file_path", "path", "pattern", "query", "url")
    return target_in(given, keys) or (
        as_word(update.get("title"), TARGET_CHARS) if given or update.get("status") != "pending" else None
    )


def _excerpt(update: Mapping[str, Any]) -> str | None:
    texts = (as_object(as_object(row).get("content")).get("text") for row in as_list(update.get("content")))
    text = next((text for text in texts if isinstance(text, str) and text.strip()), update.get("rawOutput"))
    return as_text(text, EXCERPT_CHARS) if isinstance(text, str) else None


def _inner_words(data: object) -> str | None:
    if isinstance(data, str):
        return as_text(data, MESSAGE_CHARS)
    row = as_object(data)
    for key in ("message", "details", "detail", "error"):
        value = row.get(key)
        if isinstance(value, str) and value.strip():
            return as_text(value, MESSAGE_CHARS)
    return clip(json.dumps(row), MESSAGE_CHARS) if row else None


def _status_in(value: object, depth: int) -> int | None:
    """Return the first HTTP error status under a key that says so, a few levels deep."""
    if depth == 0 or not isinstance(value, dict):
        return None
    for key, inner in list(value.items())[:32]:
        if "status" in key.lower() and isinstance(inner, int) and 400 <= inner <= 599:
            return inner
        if (found := _status_in(inner, depth - 1)) is not None:
            return found
    return None
