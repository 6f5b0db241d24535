"""Copilot CLI (1.0.102): ``~/.copilot/session-state/<id>/events.jsonl``, rows ``{type, data, timestamp}``.

A turn here is one answer of the model; the person's turn is over with one that calls no tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..values import as_list, as_object
from .tail import Tail, Turn

_ASKED = frozenset({"permission.requested", "user_input.requested", "elicitation.requested"})
_ANSWERED = frozenset({"permission.completed", "user_input.completed", "elicitation.completed"})


def row(tail: Tail, item: Mapping[str, Any]) -> None:
    """Take one row."""
    data, kind = as_object(item.get("data")), str(item.get("type"))
    tail.when(item.get("timestamp"))
    if kind.startswith("session."):
        _session(tail, kind, data)
    elif kind == "user.message":
        tail.user(data.get("content"))
    elif kind == "assistant.message":
        tail.named(model=data.get("model"))
        calls = [as_object(call) for call in as_list(data.get("toolRequests"))]
        tail.said(data.get("content"), last=not calls)
        for call in calls:
            tail.called(call.get("toolCallId"), call.get("name"))
    elif kind == "tool.execution_complete":
        tail.returned(data.get("toolCallId"))
    elif kind in _ASKED:
        tail.asks(as_object(data.get("permissionRequest")).get("intention") or data.get("question") or "permission")
    elif kind in _ANSWERED:
        tail.asked = None
    elif kind == "abort":
        tail.ended(Turn.ABORTED)


def _session(tail: Tail, kind: str, data: Mapping[str, Any]) -> None:
    match kind:
        case "session.start" | "session.resume":
            place = as_object(data.get("context"))
            tail.named(session_id=data.get("sessionId"), cwd=place.get("cwd"), branch=place.get("branch"))
            tail.named(model=data.get("selectedModel"), version=data.get("copilotVersion"))
        case "session.model_change":
            tail.named(model=data.get("newModel"))
        case "session.title_changed":
            tail.named(title=data.get("title"))
        case "session.error":
            tail.ended(Turn.FAILED, data.get("message"))
        case "session.shutdown":
            tail.closed = True
