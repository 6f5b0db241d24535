"""From a request in Anthropic's dialect to one in OpenAI's chat dialect. Pure; believes nothing about its shape."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...lanes.values import as_list, as_object

Message = dict[str, Any]

MOST_TOKENS = 8192
"""A client that asks for more means "as much as you can": a server with a small context would refuse the sum."""

BILLING_HEADER = "x-anthropic-billing-header:"
"""Claude Code 2.1.332 begins its system prompt with a line that differs in every request. It says nothing to a
model, and a server could never reuse what it had read before."""

CHARS_PER_TOKEN = 4
"""A guess for counting tokens without the model's own tokenizer."""

_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def to_chat(body: Mapping[str, Any], model: str) -> Message:
    """Return the request for ``/chat/completions``, always streamed and always for ``model``."""
    messages = list(_system(body.get("system")))
    for message in map(as_object, as_list(body.get("messages"))):
        messages += _assistant(message) if message.get("role") == "assistant" else _user(message)
    chat: Message = {"model": model, "messages": messages, "stream": True, "stream_options": {"include_usage": True}}
    if tools := [tool for row in as_list(body.get("tools")) if (tool := _tool(as_object(row))) is not None]:
        chat["tools"] = tools
        if (choice := _choice(as_object(body.get("tool_choice")))) is not None:
            chat["tool_choice"] = choice
    most = body.get("max_tokens")
    if isinstance(most, int) and 0 < most <= MOST_TOKENS:
        chat["max_tokens"] = most
    for name, theirs in (("temperature", "temperature"), ("top_p", "top_p"), ("stop_sequences", "stop")):
        if body.get(name) is not None:
            chat[theirs] = body[name]
    return chat


def guess_tokens(body: Mapping[str, Any]) -> int:
    """Return about how many tokens a request has. No server of this dialect can be asked."""
    parts = (body.get("system"), body.get("messages"), body.get("tools"))
    return max(1, sum(len(json.dumps(part)) for part in parts if part) // CHARS_PER_TOKEN)


def _system(value: object) -> Iterator[Message]:
    texts = [value] if isinstance(value, str) else [as_object(block).get("text") for block in as_list(value)]
    kept = [text for text in texts if isinstance(text, str) and text and not text.startswith(BILLING_HEADER)]
    if kept:
        yield {"role": "system", "content": "\n\n".join(kept)}


def _user(message: Mapping[str, Any]) -> Iterator[Message]:
    """A user's turn: first the results of tools, each as a message of its own, then what was said."""
    content = message.get("content")
    if isinstance(content, str):
        yield {"role": "user", "content": content}
        return
    said: list[Message] = []
    for block in map(as_object, as_list(content)):
        if block.get("type") == "tool_result":
            text, images = _result(block)
            yield {"role": "tool", "tool_call_id": str(block.get("tool_use_id")), "content": text}
            said += images
        elif (part := _part(block)) is not None:
            said.append(part)
    if all(part["type"] == "text" for part in said):
        text = "\n\n".join(part["text"] for part in said)
        if text:
            yield {"role": "user", "content": text}  # plain text is what every server takes
    else:
        yield {"role": "user", "content": said}


def _result(block: Mapping[str, Any]) -> tuple[str, list[Message]]:
    """Return what a tool said as text, and its images, which this dialect takes only from a user."""
    content = block.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else []
    parts += [part for row in as_list(content) if (part := _part(as_object(row))) is not None]
    text = "\n".join(part["text"] for part in parts if part["type"] == "text")
    if block.get("is_error") is True and not text.startswith(("Error", "<tool_use_error>")):
        text = f"Error: {text}"
    return text or "(no output)", [part for part in parts if part["type"] != "text"]


def _part(block: Mapping[str, Any]) -> Message | None:
    text = block.get("text")
    if block.get("type") == "text" and isinstance(text, str):
        return {"type": "text", "text": text}
    if block.get("type") == "image":
        source = as_object(block.get("source"))
        url = source.get("url") or f"data:{source.get('media_type')};base64,{source.get('data')}"
        return {"type": "image_url", "image_url": {"url": url}}
    if block.get("type") == "document":
        return {"type": "text", "text": "(a document that this model can't read)"}
    return None


def _assistant(message: Mapping[str, Any]) -> Iterator[Message]:
    """The model's own turn. What it thought is not sent back: no server of this dialect has a place for it."""
    content = message.get("content")
    if isinstance(content, str):
        yield {"role": "assistant", "content": content}
        return
    texts: list[str] = []
    calls: list[Message] = []
    for block in map(as_object, as_list(content)):
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            texts.append(text)
        elif block.get("type") == "tool_use":
            function = {"name": str(block.get("name")), "arguments": json.dumps(block.get("input") or {})}
            calls.append({"id": str(block.get("id")), "type": "function", "function": function})
    if texts or calls:
        yield {"role": "assistant", "content": "".join(texts), **({"tool_calls": calls} if calls else {})}


def _tool(row: Mapping[str, Any]) -> Message | None:
    """A tool of the client's own; what Anthropic's servers run themselves has no schema, and nobody here runs it."""
    schema = row.get("input_schema")
    if not isinstance(row.get("name"), str) or not isinstance(schema, dict):
        return None
    function = {"name": row["name"], "description": str(row.get("description") or ""), "parameters": schema}
    return {"type": "function", "function": function}


def _choice(row: Mapping[str, Any]) -> object:
    if row.get("type") == "tool":
        return {"type": "function", "function": {"name": str(row.get("name"))}}
    return _CHOICES.get(str(row.get("type")))
