"""What a thread of Codex has used while its turn goes on: its stream tells that only at the end, its rollout before.

Seen with 0.171.0: after each model call a line ``{"type": "event_msg", "payload": {"type": "token_count", "info":
{"total_token_usage": {...}, "last_token_usage": {...}}}}``, the total of the thread from its beginning. Pure.
"""

from __future__ import annotations

import json
from typing import Any

from ....messages.job import TokenUsage
from ...values import as_object
from .events import usage_of

_LINE_CAP = 1 << 20
_MARK = b'"total_token_usage"'


def used_in(tail: bytes) -> TokenUsage | None:
    """Return the last total that the end of a rollout tells; its first line may be cut. None is unknown."""
    for line in reversed(tail.split(b"\n")):
        if _MARK in line and len(line) <= _LINE_CAP and (found := usage_of(_total(line))) is not None:
            return found
    return None


def _total(line: bytes) -> Any:  # noqa: ANN401 - an object of any keys
    try:
        item = as_object(json.loads(line))
    except (ValueError, RecursionError):
        return {}
    payload = as_object(item.get("payload"))
    told = payload if payload.get("type") == "token_count" else {}
    return as_object(as_object(told.get("info")).get("total_token_usage"))
