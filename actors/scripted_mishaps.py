"""What a scripted model answers where it is to fail: a refused key, a spent plan, a connection that is cut.

The bodies are those of the real services. The headers ask the client not to try again, or to do so at once: how long
a CLI waits by itself is not what is rehearsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Mishap(StrEnum):
    """What goes wrong in a rehearsal."""

    REFUSED_KEY = "refused-key"
    """Every request is answered with HTTP 401."""
    SPENT_PLAN = "spent-plan"
    """Every request is answered with what a spent plan is told, until a time that it names."""
    CUT = "cut"
    """The first answer breaks off in its middle; all others are whole."""


WINDOW_S = 3600
"""How far away the end of a spent plan's window is said to be."""
PLAN_WORDS = "The usage limit has been reached"
CREDIT_WORDS = "Insufficient credits. Add more using https://openrouter.ai/settings/credits"
KEY_WORDS = {"messages": "invalid x-api-key", "gemini": "API key not valid. Please pass a valid API key."}

Answer = tuple[int, Mapping[str, str], Mapping[str, Any]]
"""HTTP status, headers, body."""


def refused_key(dialect: str) -> Answer:
    """Return the answer to a key that is not known."""
    words = KEY_WORDS.get(dialect, "Incorrect API key provided: made-up.")
    return 401, {"x-should-retry": "false"}, _body(dialect, 401, words)


def spent_plan(dialect: str, status: int, now: float) -> Answer:
    """Return the answer of a plan that is spent (429), or of an account without credits (402)."""
    reset = int(now) + WINDOW_S
    if status == 402:  # without a time to wait for: Codex 0.171.0 would sleep until then
        return status, {"x-should-retry": "false"}, _body(dialect, status, CREDIT_WORDS)
    headers = {"retry-after-ms": "20", "retry-after": str(WINDOW_S), "x-should-retry": "false"}
    if dialect == "messages":
        prefix = "anthropic-ratelimit-unified-"
        headers |= {f"{prefix}status": "rejected", f"{prefix}reset": str(reset)}
        headers |= {f"{prefix}representative-claim": "five_hour", f"{prefix}fallback": "available"}
    return status, headers, _body(dialect, status, PLAN_WORDS, reset)


def _body(dialect: str, status: int, words: str, reset: int | None = None) -> dict[str, Any]:
    if dialect == "messages":
        kinds = {401: "authentication_error", 429: "rate_limit_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": words}}
    if dialect == "gemini":
        return {"error": _google(status, words)}
    if reset is None:
        code = "invalid_api_key" if status == 401 else status
        return {"error": {"type": "invalid_request_error", "code": code, "param": None, "message": words}}
    window = {"plan_type": "plus", "resets_at": reset, "resets_in_seconds": WINDOW_S}
    return {"error": {"type": "usage_limit_reached", "message": words, **window}}


def _google(status: int, words: str) -> dict[str, Any]:
    if status != 429:
        return {"code": status, "status": "UNAUTHENTICATED", "message": words}
    quota = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "250"}
    details = [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [quota]}]
    words = "You exceeded your current quota, please check your plan and billing details."
    return {"code": status, "status": "RESOURCE_EXHAUSTED", "message": words, "details": details}
