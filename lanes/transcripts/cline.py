"""Cline (3.0.65): ``~/.cline/data/sessions/<id>/<id>.json`` and ``<id>.messages.json``, both written anew each time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..values import as_count, as_list, as_object, as_text
from .follow import read_object
from .tail import Tail, Turn

_ENDS = {
    "completed": Turn.ENDED,
    "failed": Turn.FAILED,
    "error": Turn.FAILED,
    "cancelled": Turn.ABORTED,
    "canceled": Turn.ABORTED,
    "aborted": Turn.ABORTED,
}
_LAST = 40
"""Messages that are looked at, from the end; the first request is told by the session's own file."""


def document(session: bytes, messages: bytes) -> Tail | None:
    """Return the facts of a session's two files, or None where the first is no session (or half written)."""
    record = read_object(session)
    if record is None or "session_id" not in record:
        return None
    tail = Tail()
    prompt = as_object(record.get("metadata")).get("prompt") or record.get("prompt")
    tail.first_user = as_text(_bare(prompt), 600)
    known = as_list((read_object(messages) or {}).get("messages"))
    for message in known[-_LAST:]:
        _message(tail, as_object(message))
    git = as_object(as_object(record.get("metadata")).get("git"))
    tail.named(session_id=record.get("session_id"), cwd=record.get("cwd"), model=record.get("model"))
    tail.named(branch=git.get("branch"), title=as_object(record.get("metadata")).get("title"))
    tail.pid = as_count(record.get("pid"))
    _end(tail, record)
    return tail


def _end(tail: Tail, record: Mapping[str, Any]) -> None:
    tail.when(record.get("ended_at") or record.get("updated_at") or record.get("started_at"))
    turn = _ENDS.get(str(record.get("status")))
    if turn is not None:
        tail.ended(turn, record.get("error") or record.get("status"))
        tail.closed = record.get("ended_at") is not None
    elif tail.turn is None and tail.first_user:
        tail.turn = Turn.OPEN


def _message(tail: Tail, message: Mapping[str, Any]) -> None:
    tail.when(message.get("ts"))
    blocks = [as_object(block) for block in as_list(message.get("content"))]
    text = "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))
    if message.get("role") == "assistant":
        calls = [block for block in blocks if block.get("type") == "tool_use"]
        tail.said(text, last=bool(text) and not calls)
        for call in calls:
            tail.called(call.get("id"), call.get("name"))
    elif message.get("role") == "user":
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for result in results:
            tail.returned(result.get("tool_use_id"))
        if text and not results:
            tail.user(_bare(text))


def _bare(text: object) -> str | None:
    """The person's own words, without the element that cline puts around them."""
    if not isinstance(text, str):
        return None
    head, _, rest = text.partition(">")
    return rest.removesuffix("</user_input>") if head.startswith("<user_input") else text
