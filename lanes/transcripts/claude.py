"""Claude Code (2.1.332): ``~/.claude/projects/<cwd, dashed>/<session>.jsonl``.

Each block of a message is a row of its own, with the message's ``stop_reason``. Rows of sub-agents
(``isSidechain``) are not the session's own words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..values import as_list, as_object, as_text
from .tail import Tail, Turn

_STOPPED = "[Request interrupted by user"
_OURS = ("<system-reminder>", "<command-", "<local-command-", "Caveat: The messages below")
"""How texts begin that the program puts into the person's mouth."""


def row(tail: Tail, item: Mapping[str, Any]) -> None:
    """Take one row."""
    if item.get("isSidechain") is True:
        return
    kind = item.get("type")
    if kind in ("user", "assistant", "system", "attachment"):
        tail.named(session_id=item.get("sessionId"), cwd=item.get("cwd"), branch=item.get("gitBranch"))
        tail.named(version=item.get("version"))
    if kind == "assistant":
        _assistant(tail, item)
    elif kind == "user" and item.get("isMeta") is not True:
        _user(tail, item)
    elif kind in ("ai-title", "custom-title"):
        tail.named(title=item.get("aiTitle") or item.get("customTitle") or item.get("title"))
    elif kind == "summary":
        tail.named(title=item.get("summary"))


def _assistant(tail: Tail, item: Mapping[str, Any]) -> None:
    message = as_object(item.get("message"))
    model = message.get("model")
    tail.when(item.get("timestamp"))
    blocks = as_list(message.get("content"))
    if item.get("isApiErrorMessage") is True:
        tail.ended(Turn.FAILED, _text(blocks) or item.get("error"))
        return
    if model != "<synthetic>":
        tail.named(model=model)
    for block in blocks:
        part = as_object(block)
        if part.get("type") == "text":
            tail.said(part.get("text"), last=message.get("stop_reason") != "tool_use")
        elif part.get("type") == "tool_use":
            tail.called(part.get("id"), part.get("name"))
        elif part.get("type") == "thinking" and not tail.tools:
            tail.said(None, last=False)


def _user(tail: Tail, item: Mapping[str, Any]) -> None:
    content = as_object(item.get("message")).get("content")
    tail.when(item.get("timestamp"))
    results = [as_object(block) for block in as_list(content) if as_object(block).get("type") == "tool_result"]
    for result in results:
        tail.returned(result.get("tool_use_id"))
    text = as_text(content, 2000) if isinstance(content, str) else _text(as_list(content))
    if text is None:
        return
    if text.startswith(_STOPPED):
        tail.ended(Turn.ABORTED)
    elif not text.startswith(_OURS) and not results:
        tail.user(text)


def _text(blocks: object) -> str | None:
    texts = [as_object(block).get("text") for block in as_list(blocks) if as_object(block).get("type") == "text"]
    return as_text("\n".join(text for text in texts if isinstance(text, str)), 2000) or None
