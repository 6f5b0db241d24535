"""opencode (1.18.33): rows of its database, newest last. ``session``, ``message.data``, ``part.data``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..values import as_object
from .follow import read_object
from .tail import Tail, Turn


def rows(session: Mapping[str, Any], messages: Sequence[tuple[str, str]], parts: Sequence[tuple[str, str]]) -> Tail:
    """Return the facts of a session from its last messages ``(id, data)`` and their parts ``(message id, data)``."""
    tail = Tail()
    tail.named(session_id=session.get("id"), cwd=session.get("directory"), title=session.get("title"))
    of: dict[str, list[Mapping[str, Any]]] = {}
    for message, data in parts:
        of.setdefault(message, []).append(_read(data))
    for message, data in messages:
        _message(tail, _read(data), of.get(message, []))
    tail.when(session.get("time_updated"))
    return tail


def _read(data: object) -> Mapping[str, Any]:
    return (read_object(data.encode("utf-8", "replace")) if isinstance(data, str) else None) or {}


def _message(tail: Tail, message: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> None:
    texts = [part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)]
    text = "\n".join(texts)
    if message.get("role") == "user":
        tail.user(text)
        return
    if message.get("role") != "assistant":
        return
    tail.named(model=message.get("modelID"))
    finish = message.get("finish")
    tail.said(text, last=finish not in (None, "tool-calls"))
    for part in parts:
        if part.get("type") == "tool":
            tail.called(part.get("callID"), part.get("tool"))
            if as_object(part.get("state")).get("status") in ("completed", "error"):
                tail.returned(part.get("callID"))
    error = as_object(message.get("error"))
    if error:
        named = error.get("name")
        told = as_object(error.get("data")).get("message") or named
        tail.ended(Turn.ABORTED if named == "MessageAbortedError" else Turn.FAILED, told)
