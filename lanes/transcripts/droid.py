"""Droid (0.215.0): ``~/.factory/sessions/<cwd, dashed>/<id>.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..values import as_list, as_object
from .tail import Tail, Turn

_ENDS = {"completed": Turn.ENDED, "cancelled": Turn.ABORTED, "canceled": Turn.ABORTED, "interrupted": Turn.ABORTED}


def row(tail: Tail, item: Mapping[str, Any]) -> None:
    """Take one row."""
    tail.when(item.get("timestamp"))
    match item.get("type"):
        case "session_start":
            tail.named(session_id=item.get("id"), cwd=item.get("cwd"), title=item.get("title"))
        case "message":
            _message(tail, as_object(item.get("message")))
        case "agent_turn_outcome":
            turn = _ENDS.get(str(item.get("reason")), Turn.FAILED)
            tail.ended(turn, item.get("error") or item.get("reason"))


def _message(tail: Tail, message: Mapping[str, Any]) -> None:
    blocks = [as_object(block) for block in as_list(message.get("content"))]
    text = "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))
    if message.get("role") == "assistant":
        tail.named(model=message.get("modelId"))
        calls = [block for block in blocks if block.get("type") == "tool_use"]
        tail.said(text, last=bool(text) and not calls)
        for call in calls:
            tail.called(call.get("id"), call.get("name"))
    elif message.get("role") == "user":
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for result in results:
            tail.returned(result.get("tool_use_id"))
        if text and not results and not text.startswith("<system-reminder>"):
            tail.user(text)
