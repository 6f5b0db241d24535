"""From what an OpenAI-compatible server streams to the events of Anthropic's dialect. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...lanes.values import as_list, as_object
from .completion import THINKING_FIELDS, Completion, Trouble
from .completion import as_object as decoded

Frame = tuple[str, dict[str, Any]]
"""An event's name and its data."""

ARGUMENTS_CAP = 4 * 1024 * 1024
CALLS_CAP = 64

ERRORS: Mapping[str, tuple[int, str]] = {
    "auth": (401, "authentication_error"),
    "rate-limit": (429, "rate_limit_error"),
    "model-gone": (404, "not_found_error"),
    "task": (400, "invalid_request_error"),
    "transport": (500, "api_error"),
}
"""Our failure words as Anthropic's statuses: the client tries again on 429 and 500, and on nothing else here."""

TOO_LONG = ("context length", "context size", "context window", "maximum context", "exceed_context_size", "n_ctx")


def error_of(trouble: Trouble) -> tuple[int, dict[str, Any]]:
    """Return the status and body of an error."""
    status, kind = ERRORS.get(trouble.failure, ERRORS["transport"])
    message = trouble.message
    if any(words in message.lower() for words in TOO_LONG):
        # The words by which the client knows that it must shorten the conversation.
        status, kind, message = 400, "invalid_request_error", f"prompt is too long: {message}"
    return status, {"type": "error", "error": {"type": kind, "message": message}}


@dataclass(slots=True)
class _Call:
    name: str | None = None
    id: str | None = None
    pieces: list[str] = field(default_factory=list)
    chars: int = 0


class AnthropicStream:
    """One answer. ``take`` each event's data, then ``finish``.

    Words pass through as they come. A tool call is passed on when it is complete: servers interleave
    several, and this dialect can't.
    """

    def __init__(self, model: str, message_id: str) -> None:
        """``model`` is what was asked for; the server may name another."""
        self.completion = Completion()
        self.started = False
        self._model, self._id = model, message_id
        self._calls: dict[int, _Call] = {}
        self._open: str | None = None
        self._blocks: list[dict[str, Any]] = []

    def take(self, payload: str) -> list[Frame]:
        """Return the events that one event of the server's becomes."""
        delta = self.completion.take(payload)
        if self.completion.error is not None:
            return []
        frames = self._start() if not self.started and payload.strip() != "[DONE]" else []
        body = decoded(payload)
        choices = as_list(body.get("choices")) if body is not None else ()
        choice = as_object(choices[0]) if choices else {}
        moved = as_object(choice.get("delta", choice.get("message")))
        thought = next((moved[name] for name in THINKING_FIELDS if isinstance(moved.get(name), str)), "")
        if thought:
            frames += self._piece("thinking", thought)
        if delta.text:
            frames += self._piece("text", delta.text)
        for row in as_list(moved.get("tool_calls")):
            self._call(as_object(row))
        return frames

    def finish(self) -> tuple[list[Frame], Trouble | None]:
        """Return the closing events, or what went wrong; after trouble nothing more is to be sent."""
        trouble = self._trouble()
        if trouble is not None:
            return [], trouble
        frames = self._start() if not self.started else []
        frames += self._close()
        for call in self._calls.values():
            frames += self._whole_call(call)
        stop = {"stop_reason": self._reason(), "stop_sequence": None}
        frames.append(("message_delta", {"type": "message_delta", "delta": stop, "usage": self._usage()}))
        return [*frames, ("message_stop", {"type": "message_stop"})], None

    def whole(self) -> dict[str, Any]:
        """Return the answer in one piece, for a client that does not stream. Call it after ``finish``."""
        return {**self._message(), "content": self._blocks, "stop_reason": self._reason(), "usage": self._usage()}

    def _trouble(self) -> Trouble | None:
        """Return what makes the answer none. One that was cut at a limit, or is empty, is the client's to judge."""
        whole = self.completion.complete and self.completion.error is None
        return None if whole and self.completion.finish_reason != "content_filter" else self.completion.trouble()

    def _reason(self) -> str:
        if self.completion.finish_reason == "length":
            return "max_tokens"
        return "tool_use" if self._calls else "end_turn"

    def _usage(self) -> dict[str, int]:
        told = self.completion.usage
        return {
            "input_tokens": told.get("input", 0),
            "cache_read_input_tokens": told.get("cached_input", 0),
            "cache_creation_input_tokens": 0,
            "output_tokens": told.get("output", 0),
        }

    def _message(self) -> dict[str, Any]:
        usage = {"input_tokens": 0, "output_tokens": 0}
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self.completion.model or self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }

    def _start(self) -> list[Frame]:
        self.started = True
        return [("message_start", {"type": "message_start", "message": self._message()})]

    def _begin(self, block: dict[str, Any]) -> list[Frame]:
        self._blocks.append(block)
        empty = {**block, "input": {}} if block["type"] == "tool_use" else {**block, block["type"]: ""}
        place = {"type": "content_block_start", "index": len(self._blocks) - 1, "content_block": empty}
        return [("content_block_start", place)]

    def _delta(self, delta: dict[str, Any]) -> Frame:
        place = {"type": "content_block_delta", "index": len(self._blocks) - 1, "delta": delta}
        return "content_block_delta", place

    def _close(self) -> list[Frame]:
        if self._open is None:
            return []
        self._open = None
        place = {"type": "content_block_stop", "index": len(self._blocks) - 1}
        return [("content_block_stop", place)]

    def _piece(self, kind: str, text: str) -> list[Frame]:
        frames: list[Frame] = []
        if self._open != kind:
            signed = {"signature": ""} if kind == "thinking" else {}
            frames += [*self._close(), *self._begin({"type": kind, kind: "", **signed})]
            self._open = kind
        self._blocks[-1][kind] += text
        return [*frames, self._delta({"type": f"{kind}_delta", kind: text})]

    def _call(self, row: Mapping[str, Any]) -> None:
        number = row.get("index", len(self._calls))
        if not isinstance(number, int) or (number not in self._calls and len(self._calls) >= CALLS_CAP):
            return
        call = self._calls.setdefault(number, _Call())
        function = as_object(row.get("function"))
        if isinstance(function.get("name"), str) and function["name"]:
            call.name = function["name"]
        if isinstance(row.get("id"), str) and row["id"]:
            call.id = row["id"]
        piece = function.get("arguments")
        piece = json.dumps(piece) if isinstance(piece, dict) else piece
        if isinstance(piece, str) and call.chars + len(piece) <= ARGUMENTS_CAP:
            call.pieces.append(piece)
            call.chars += len(piece)

    def _whole_call(self, call: _Call) -> list[Frame]:
        given = arguments("".join(call.pieces))
        name = call.id or f"toolu_{self._id}_{len(self._blocks)}"
        frames = self._begin({"type": "tool_use", "id": name, "name": call.name or "unknown", "input": given})
        frames.append(self._delta({"type": "input_json_delta", "partial_json": json.dumps(given)}))
        self._open = "tool_use"
        return [*frames, *self._close()]


def arguments(text: str) -> dict[str, Any]:
    """Return a call's arguments. What is no JSON object goes on as one that the tool itself will refuse.

    Small models write broken JSON: told so by the tool, they try again; a broken answer would end the turn.
    """
    if not text.strip():
        return {}
    value = decoded(text)
    return {"unreadable_arguments": text} if value is None else value
