"""Gemini CLI (0.61.0): ``~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl``.

The first row names the session; ``user`` and ``gemini`` rows follow, the latter once more when its calls have run.
The folder is told by ``~/.gemini/projects.json`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..values import as_list, as_object
from .tail import Tail, Turn

_WAITS = ("awaiting_approval", "awaiting-approval")
_RAN = ("success", "error", "cancelled", "canceled")


def row(tail: Tail, item: Mapping[str, Any]) -> None:
    """Take one row."""
    tail.when(item.get("timestamp"))
    kind = item.get("type")
    if kind is None and "kind" in item:
        tail.named(session_id=item.get("sessionId"))
        tail.when(item.get("startTime"))
    elif kind == "user":
        _user(tail, item)
    elif kind == "gemini":
        _gemini(tail, item)
    elif kind == "error":
        tail.ended(Turn.FAILED, item.get("content"))
    elif kind == "info" and isinstance(item.get("content"), str) and "cancel" in item["content"].lower():
        tail.ended(Turn.ABORTED)


def _user(tail: Tail, item: Mapping[str, Any]) -> None:
    content = item.get("content")
    parts = [as_object(part) for part in as_list(content)]
    answers = [as_object(part.get("functionResponse")) for part in parts if "functionResponse" in part]
    for answer in answers:
        tail.returned(answer.get("id"))
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    text = content if isinstance(content, str) else "\n".join(texts)
    if text and not answers and not text.startswith("<session_context>"):
        tail.user(text)


def _gemini(tail: Tail, item: Mapping[str, Any]) -> None:
    tail.named(model=item.get("model"))
    calls = [as_object(call) for call in as_list(item.get("toolCalls"))]
    content = item.get("content")
    text = content if isinstance(content, str) else None
    tail.said(None if calls else text, last=bool(text) and not calls)  # with its calls it was told before
    for call in calls:
        tail.called(call.get("id"), call.get("name"))
        if call.get("status") in _WAITS:
            tail.asks(call.get("name"), call.get("id"))
        elif call.get("status") in _RAN:
            tail.returned(call.get("id"))
