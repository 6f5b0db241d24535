"""pi (0.73.1): ``~/.pi/agent/sessions/--<cwd, dashed>--/<time>_<id>.jsonl``. Each answer says why it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..values import as_list, as_object
from .tail import Tail, Turn


def row(tail: Tail, item: Mapping[str, Any]) -> None:
    """Take one row."""
    tail.when(item.get("timestamp"))
    match item.get("type"):
        case "session":
            tail.named(session_id=item.get("id"), cwd=item.get("cwd"))
        case "model_change":
            tail.named(model=item.get("modelId"))
        case "session_info":
            tail.named(title=item.get("name"))
        case "message":
            _message(tail, as_object(item.get("message")))


def _message(tail: Tail, message: Mapping[str, Any]) -> None:
    content = message.get("content")
    blocks = [as_object(block) for block in as_list(content)]
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    text = content if isinstance(content, str) else "\n".join(texts)
    match message.get("role"):
        case "user":
            tail.user(text)
        case "toolResult":
            tail.returned(message.get("toolCallId"))
        case "assistant":
            tail.named(model=message.get("model"))
            tail.said(text, last=message.get("stopReason") in ("stop", "length"))
            for block in blocks:
                if block.get("type") == "toolCall":
                    tail.called(block.get("id"), block.get("name"))
            if message.get("stopReason") == "error":
                tail.ended(Turn.FAILED, message.get("errorMessage"))
            elif message.get("stopReason") == "aborted":
                tail.ended(Turn.ABORTED)
