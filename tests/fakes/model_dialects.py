"""Four model APIs, rendered from one scripted turn: what a client of each would get from the real one.

Anthropic Messages (as Claude Code 2.1.332 uses it), OpenAI Responses (as Codex 0.171.0 uses it),
OpenAI Chat Completions and Gemini generateContent (as Gemini CLI 0.61.0 uses it). A rendered stream is a list of ``(event name | None, object | text)`` with
``HALF`` once in the middle of the text, where a script may stall or cut it.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from typing import Any

HALF = ("", "half")
Frames = list[tuple[str | None, Any]]

INPUT_TOKENS, CACHED_TOKENS, OUTPUT_TOKENS = 1234, 200, 56
"""What every good answer reports, so that a test can say what a job must show."""


NO_CREDITS = "Insufficient credits. Add more using https://openrouter.ai/settings/credits"
"""What OpenRouter says with HTTP 402."""


@dataclass(frozen=True)
class Call:
    """One tool call: structured arguments, or the text of a freeform tool."""

    id: str
    name: str
    arguments: dict[str, Any] | None = None
    text: str | None = None
    namespace: str | None = None
    """Responses only: the server that a tool belongs to (Codex 0.171.0 names MCP tools so)."""


@dataclass(frozen=True)
class Turn:
    """What the model says in one answer."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = None
    """Chat only: a finish reason other than the natural one."""
    id: str = "1"
    """Makes the ids in it: a client may count two messages of one id as one."""
    prefix: str = "msg_"
    """How an Anthropic message id starts: OpenRouter's with ``gen-``."""


def pieces(text: str) -> tuple[list[str], list[str]]:
    """The words of a text in two halves, the first never empty unless the text is."""
    words = re.findall(r"\S+\s*|\s+", text)
    cut = max(1, len(words) // 2)
    return words[:cut], words[cut:]


# Anthropic Messages


def anthropic_frames(turn: Turn, model: str) -> Frames:
    """A streamed message: text block, then tool-use blocks."""
    start = {"input_tokens": INPUT_TOKENS, "cache_creation_input_tokens": 0}
    start |= {"cache_read_input_tokens": CACHED_TOKENS, "output_tokens": 1}
    message = {
        "id": f"{turn.prefix}{turn.id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "usage": start,
    }
    frames: Frames = [named("message_start", message=message | {"stop_reason": None, "stop_sequence": None})]
    index = 0
    first, rest = pieces(turn.text)
    if turn.text:
        frames.append(named("content_block_start", index=0, content_block={"type": "text", "text": ""}))
        frames += [text_delta(word) for word in first] + [HALF] + [text_delta(word) for word in rest]
        frames.append(named("content_block_stop", index=0))
        index = 1
    for call in turn.calls:
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        frames.append(named("content_block_start", index=index, content_block=block))
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments or {})}
        frames += [named("content_block_delta", index=index, delta=delta), named("content_block_stop", index=index)]
        index += 1
    stop = {"stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None}
    frames.append(named("message_delta", delta=stop, usage={"output_tokens": OUTPUT_TOKENS}))
    return [*frames, named("message_stop")]


def text_delta(word: str) -> tuple[str, Any]:
    return named("content_block_delta", index=0, delta={"type": "text_delta", "text": word})


def named(kind: str, **fields: Any) -> tuple[str, Any]:
    """A frame whose type is also its event name."""
    return kind, {"type": kind, **fields}


def anthropic_whole(turn: Turn, model: str) -> dict[str, Any]:
    """The same without streaming (titles and the like)."""
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}
    content = [{"type": "text", "text": turn.text}]
    return {
        "id": f"{turn.prefix}{turn.id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def anthropic_headers() -> dict[str, str]:
    """The gauges that a subscription's good answers carry."""
    reset = str(int(time.time()) + 3600)
    prefix = "anthropic-ratelimit-unified-"
    five = {f"{prefix}5h-status": "allowed", f"{prefix}5h-utilization": "0.42", f"{prefix}5h-reset": reset}
    week = {f"{prefix}7d-status": "allowed", f"{prefix}7d-utilization": "0.17", f"{prefix}7d-reset": reset}
    overall = {f"{prefix}status": "allowed", f"{prefix}reset": reset, f"{prefix}representative-claim": "five_hour"}
    return {"request-id": "req_1"} | five | week | overall


def anthropic_error(status: int, kind: str, reset: int) -> tuple[int, dict[str, str], dict[str, Any]]:
    """An error in Anthropic's shape. ``plan`` is a subscription whose window is spent until ``reset``."""
    types = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
    words = {401: "invalid x-api-key", 402: NO_CREDITS, 404: "model: no-such-model", 529: "Overloaded"}
    message = words.get(status, "This request would exceed your organization's rate limit")
    headers = {"request-id": "req_1"}
    if kind == "plan":
        prefix = "anthropic-ratelimit-unified-"
        headers |= {f"{prefix}status": "rejected", f"{prefix}reset": str(reset), "x-should-retry": "false"}
        headers |= {f"{prefix}representative-claim": "five_hour", f"{prefix}fallback": "available"}
    error = {"type": types.get(status, "api_error"), "message": message}
    return status, headers, {"type": "error", "error": error, "request_id": "req_1"}


# OpenAI Responses


def responses_frames(turn: Turn, model: str) -> Frames:
    """A streamed response: one message item, then one item for each call."""
    items: list[dict[str, Any]] = []
    base = {"id": f"resp_{turn.id}", "object": "response", "created_at": int(time.time()), "model": model, "output": []}
    base |= {"usage": None, "error": None, "status": "in_progress"}
    frames: Frames = [named("response.created", response=base), named("response.in_progress", response=base)]
    if turn.text:
        item = {"type": "message", "id": f"item_{turn.id}", "role": "assistant", "status": "in_progress", "content": []}
        frames.append(named("response.output_item.added", output_index=0, item=item))
        part = {"type": "output_text", "text": "", "annotations": []}
        place = {"item_id": f"item_{turn.id}", "output_index": 0, "content_index": 0}
        frames.append(named("response.content_part.added", **place, part=part))
        first, rest = pieces(turn.text)
        words = [named("response.output_text.delta", **place, delta=word) for word in first + rest]
        frames += [*words[: len(first)], HALF, *words[len(first) :]]
        frames.append(named("response.output_text.done", **place, text=turn.text))
        part = part | {"text": turn.text}
        frames.append(named("response.content_part.done", **place, part=part))
        items.append(item | {"status": "completed", "content": [part]})
        frames.append(named("response.output_item.done", output_index=0, item=items[0]))
    for call in turn.calls:
        frames += responses_call(call, len(items))
        items.append(frames[-1][1]["item"])
    done = base | {"status": "completed", "output": items, "usage": responses_usage()}
    frames.append(named("response.completed", response=done))
    return frames


def responses_call(call: Call, index: int) -> Frames:
    """The frames of one tool call; the last one carries the finished item."""
    if call.text is not None:
        item = {"type": "custom_tool_call", "id": f"ctc_{call.id}", "call_id": call.id, "name": call.name}
        item |= {"input": call.text, "status": "completed"}
        started, delta, body = item | {"input": "", "status": "in_progress"}, "custom_tool_call_input", call.text
    else:
        body = json.dumps(call.arguments or {})
        item = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.name}
        item |= {"arguments": body, "status": "completed"}
        if call.namespace is not None:
            item["namespace"] = call.namespace
        started, delta = item | {"arguments": "", "status": "in_progress"}, "function_call_arguments"
    return [
        named("response.output_item.added", output_index=index, item=started),
        named(f"response.{delta}.delta", item_id=item["id"], output_index=index, delta=body),
        named("response.output_item.done", output_index=index, item=item),
    ]


def responses_usage() -> dict[str, Any]:
    details = {"input_tokens_details": {"cached_tokens": CACHED_TOKENS}}
    details |= {"output_tokens_details": {"reasoning_tokens": 0}}
    total = INPUT_TOKENS + OUTPUT_TOKENS
    return {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS, "total_tokens": total} | details


def openai_headers() -> dict[str, str]:
    """The gauges that a ChatGPT plan's good answers carry."""
    reset = str(int(time.time()) + 3600)
    first = {"x-codex-primary-used-percent": "42.5", "x-codex-primary-window-minutes": "300"}
    return {"x-request-id": "req_1", "x-codex-primary-reset-at": reset} | first


def openai_error(status: int, kind: str, reset: int) -> tuple[int, dict[str, str], dict[str, Any]]:
    """An error in OpenAI's shape. ``plan`` is what a ChatGPT plan answers when its limit is spent."""
    if kind == "plan":
        error: dict[str, Any] = {"type": "usage_limit_reached", "message": "The usage limit has been reached"}
        return 429, {}, {"error": error | {"plan_type": "plus", "resets_at": reset, "resets_in_seconds": 3600}}
    table = {
        401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided: test."),
        402: ("invalid_request_error", None, NO_CREDITS),
        404: ("invalid_request_error", "model_not_found", "The model `no-such-model` does not exist"),
        429: ("tokens", "rate_limit_exceeded", "Rate limit reached. Please try again in 2s."),
    }
    if kind == "quota":
        table[429] = ("insufficient_quota", "insufficient_quota", "You exceeded your current quota.")
    type_, code, message = table.get(status, ("server_error", None, "The server had an error."))
    return status, {}, {"error": {"message": message, "type": type_, "param": None, "code": code}}


# OpenAI Chat Completions


def chat_frames(turn: Turn, model: str) -> Frames:
    """A streamed completion: pieces of text, tool calls, the finish, the usage, and the end mark."""
    first, rest = pieces(turn.text)
    frames: Frames = [chat_chunk(model, {"role": "assistant", "content": ""})]
    frames += [chat_chunk(model, {"content": word}) for word in first]
    frames.append(HALF)
    frames += [chat_chunk(model, {"content": word}) for word in rest]
    for index, call in enumerate(turn.calls):
        function = {"name": call.name, "arguments": json.dumps(call.arguments or {})}
        delta = {"index": index, "id": call.id, "type": "function", "function": function}
        frames.append(chat_chunk(model, {"tool_calls": [delta]}))
    frames.append(chat_chunk(model, {}, turn.finish or ("tool_calls" if turn.calls else "stop")))
    usage = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS}
    usage |= {"prompt_tokens_details": {"cached_tokens": CACHED_TOKENS}, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS}
    last = chat_chunk(model, {})[1] | {"choices": [], "usage": usage}
    return [*frames, (None, last), (None, "[DONE]")]


def chat_chunk(model: str, delta: dict[str, Any], finish: str | None = None) -> tuple[None, dict[str, Any]]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return None, {"id": "chat_1", "object": "chat.completion.chunk", "model": model, "choices": [choice]}


# Gemini generateContent


def gemini_frames(turn: Turn, model: str) -> Frames:
    """A streamed answer: pieces of text, then every call in the last chunk."""
    first, rest = pieces(turn.text)
    frames: Frames = [(None, gemini_chunk(turn, model, [{"text": word}])) for word in first]
    frames.append(HALF)
    frames += [(None, gemini_chunk(turn, model, [{"text": word}])) for word in rest]
    calls = [{"functionCall": {"name": call.name, "args": call.arguments or {}}} for call in turn.calls]
    return [*frames, (None, gemini_chunk(turn, model, calls or [{"text": ""}], "STOP"))]


def gemini_chunk(turn: Turn, model: str, parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": INPUT_TOKENS, "cachedContentTokenCount": CACHED_TOKENS}
    usage |= {"candidatesTokenCount": OUTPUT_TOKENS, "thoughtsTokenCount": 0}
    usage |= {"totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": f"r{turn.id}"}


def gemini_route(model: str) -> dict[str, Any]:
    """What the CLI's own router is told when it asks which model a prompt needs."""
    choice = {"reasoning": "scripted", "model_choice": "flash", "complexity_reasoning": "scripted"}
    choice |= {"complexity_score": 1, "next_speaker": "user", "confidence": 0}
    return gemini_chunk(Turn(id="0"), model, [{"text": json.dumps(choice)}], "STOP")


def gemini_error(status: int, kind: str, _reset: int) -> tuple[int, dict[str, str], dict[str, Any]]:
    """An error in Google's shape. ``quota`` and ``plan`` are a quota per day, ``rate`` one per minute."""
    table = {
        400: ("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
        401: ("UNAUTHENTICATED", "API key not valid. Please pass a valid API key."),
        404: ("NOT_FOUND", "models/no-such-model is not found for API version v1beta, or is not supported"),
        429: ("RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details."),
        503: ("UNAVAILABLE", "The model is overloaded. Please try again later."),
    }
    word, message = table.get(status, ("INTERNAL", "An internal error has occurred."))
    error: dict[str, Any] = {"code": status, "status": word, "message": message}
    if status == 429:
        per = "Day" if kind in ("quota", "plan") else "Minute"
        violation = {"quotaId": f"GenerateRequestsPer{per}PerProjectPerModel-FreeTier", "quotaValue": "250"}
        types = "type.googleapis.com/google.rpc."
        error["details"] = [
            {"@type": f"{types}QuotaFailure", "violations": [violation]},
            {"@type": f"{types}RetryInfo", "retryDelay": "1s"},
        ]
    return status, {}, {"error": error}
