"""Why OpenCode says that a turn failed: the error's name and status first, its words second. Seen on 1.18.33."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...messages.lane_events import FailureKind
from .. import failures
from ..contract import Ending
from ..values import as_count, as_number, as_object, as_text, as_word

BY_NAME: Mapping[str, FailureKind] = {
    "ProviderAuthError": FailureKind.AUTH,
    "MessageAbortedError": FailureKind.INTERRUPTED,
    "MessageOutputLengthError": FailureKind.OUTPUT_LIMIT,
    "ProviderModelNotFoundError": FailureKind.MODEL_GONE,
}

PHRASES: failures.Phrases = (
    (
        FailureKind.PLAN_LIMIT,
        (
            "freetiererror.",
            "freeusagelimiterror.",
            "usage_limit_reached.",
            "insufficient_quota.",
            "insufficient credits.",
            "buy credits.",
            "buy credits at",
            "payment required.",
        ),
    ),
)
"""Words of its hosted provider and of the usual ones, 2026-11."""

_BODY_CHARS = 8 * 1024


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed."""
    return failures.classify(ending, PHRASES)


def failure_of(error: Mapping[str, Any]) -> FailureKind:
    """Return what an ``error`` line says of the failure."""
    data = as_object(error.get("data"))
    named = BY_NAME.get(as_word(error.get("name")) or "")
    if named is not None:
        return named
    said = f"{as_text(data.get('message'), _BODY_CHARS) or ''}\n{as_text(data.get('responseBody'), _BODY_CHARS) or ''}"
    status = as_count(data.get("statusCode"))
    if status == 402 or (status in (None, 403, 429) and failures.by_words(said, PHRASES) is FailureKind.PLAN_LIMIT):
        return FailureKind.PLAN_LIMIT
    return failures.by_status(status) or failures.by_words(said, PHRASES) or FailureKind.TASK


def until_of(data: Mapping[str, Any]) -> float | None:
    """Return when a limit resets (epoch seconds), where the provider's own answer says so."""
    try:
        body = json.loads(as_text(data.get("responseBody"), _BODY_CHARS) or "")
    except (ValueError, RecursionError):
        return None
    error = as_object(as_object(body).get("error"))
    return as_number(error.get("resets_at"))
