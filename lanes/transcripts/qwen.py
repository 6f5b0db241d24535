"""Qwen Code (0.24.4): ``~/.qwen/projects/<cwd, dashed>/chats/<session>.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..values import as_list, as_object
from .tail import Tail, Turn


def row(tail: Tail, item: Mapping[str, Any]) -> None:
    """Take one row."""
    kind = item.get("type")
    if kind not in ("user", "assistant", "tool_result", "system"):
        return
    tail.named(session_id=item.get("sessionId"), cwd=item.get("cwd"), branch=item.get("gitBranch"))
    tail.named(version=item.get("version"))
    tail.when(item.get("timestamp"))
    parts = [as_object(part) for part in as_list(as_object(item.get("message")).get("parts"))]
    text = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought"))
    if kind == "tool_result":
        for part in parts:
            tail.returned(as_object(part.get("functionResponse")).get("id"))
    elif kind == "user" and text:
        tail.user(text)
    elif kind == "assistant":
        tail.named(model=item.get("model"))
        calls = [as_object(part["functionCall"]) for part in parts if "functionCall" in part]
        tail.said(text, last=bool(text) and not calls)
        for call in calls:
            tail.called(call.get("id"), call.get("name"))
    elif kind == "system":
        _system(tail, item)


def _system(tail: Tail, item: Mapping[str, Any]) -> None:
    payload = as_object(item.get("systemPayload"))
    event = as_object(payload.get("uiEvent"))
    if event.get("event.name") == "qwen-code.api_error":
        tail.ended(Turn.FAILED, event.get("error_message") or event.get("error"))
    elif item.get("subtype") == "custom_title":
        tail.named(title=payload.get("customTitle") or payload.get("title"))
