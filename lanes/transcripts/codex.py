"""Codex (0.171.0): ``~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl``.

Rows are ``{timestamp, type, payload}``; ``task_started`` and ``task_complete`` stand around a turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..values import as_list, as_object
from .tail import Tail, Turn

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def row(tail: Tail, item: Mapping[str, Any]) -> None:
    """Take one row."""
    kind, payload = item.get("type"), as_object(item.get("payload"))
    tail.when(item.get("timestamp"))
    if kind == "session_meta":
        git = as_object(payload.get("git"))
        tail.named(session_id=payload.get("id"), cwd=payload.get("cwd"), branch=git.get("branch"))
        tail.named(version=payload.get("cli_version"))
    elif kind == "turn_context":
        tail.named(model=payload.get("model"), cwd=payload.get("cwd"))
    elif kind == "response_item":
        _item(tail, payload)
    elif kind == "event_msg":
        _event(tail, payload)


def _item(tail: Tail, payload: Mapping[str, Any]) -> None:
    kind = payload.get("type")
    if kind in _CALLS:
        tail.called(payload.get("call_id"), payload.get("name"))
    elif kind in _RESULTS:
        tail.returned(payload.get("call_id"))
    elif kind == "message" and payload.get("role") in ("user", "assistant"):
        parts = [as_object(part).get("text") for part in as_list(payload.get("content"))]
        text = "\n".join(part for part in parts if isinstance(part, str))
        if payload.get("role") == "assistant":
            tail.said(text, last=False)  # task_complete tells the end
        elif not text.lstrip().startswith("<"):  # what the program itself adds: environment, instructions
            tail.user(text)


def _event(tail: Tail, payload: Mapping[str, Any]) -> None:
    match payload.get("type"):
        case "task_started":
            tail.began()
        case "task_complete":
            error = payload.get("error")
            message = as_object(error).get("message", error)
            tail.ended(Turn.FAILED if error else Turn.ENDED, message)
        case "turn_aborted":
            tail.ended(Turn.ABORTED)
        case "error":
            tail.ended(Turn.FAILED, payload.get("message"))
        case "exec_approval_request" | "apply_patch_approval_request" | "elicitation_request" | "request_user_input":
            tail.asks(payload.get("reason") or payload.get("type"))
        case "thread_name_updated":
            tail.named(title=payload.get("thread_name") or payload.get("name"))
