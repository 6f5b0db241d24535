"""Why a turn on the gemini lane failed, as data: sentences, exit codes. Dated by the versions beside them."""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.lane_events import FailureKind
from .. import failures
from ..contract import Ending

PHRASES: failures.Phrases = (
    (
        FailureKind.PLAN_LIMIT,
        (
            "you have exhausted your daily quota on this model",  # gemini 0.61.0, a per-day quota of a key
            "you have exhausted your capacity on this model",  # gemini 0.61.0, a sign-in
            "quota will reset after",
            "individual quota reached.",  # agy, public reports
        ),
    ),
    (
        FailureKind.MODEL_GONE,
        (
            "models/* is not found for api version",  # gemini 0.61.0
            "requested entity was not found.",
            "invalid model.",  # agy
            "invalid model:",
        ),
    ),
    (
        FailureKind.AUTH,
        (
            "api key not valid.",  # gemini 0.61.0
            "api key expired.",
            "api_key_invalid.",
            "unauthenticated.",
            "please set an auth method",  # gemini 0.61.0, exit 41
            "invalid auth method selected",  # gemini 0.61.0, exit 41
            "invalid auth method.",
            "keyring * not available",  # agy keeps its sign-in there
            "keyring * unavailable",
            "keyring * locked",
        ),
    ),
    (
        FailureKind.RATE_LIMIT,
        ("you exceeded your current quota", "resource_exhausted.", "resource has been exhausted"),  # gemini 0.61.0
    ),
    (
        FailureKind.TRANSPORT,
        ("terminated.", "model is overloaded.", "fetch failed."),  # gemini 0.61.0
    ),
)

EXIT_KINDS: Mapping[int, FailureKind] = {
    41: FailureKind.AUTH,  # seen: no way to sign in was found
    42: FailureKind.LAUNCH,  # documented: bad input
    44: FailureKind.LAUNCH,  # documented: the sandbox
    52: FailureKind.LAUNCH,  # documented: bad settings
    55: FailureKind.LAUNCH,  # seen: the folder is not trusted
}
"""Gemini CLI's own exit codes, for runs without a result line."""

_STATUSES = (400, 401, 403, 404, 408, 429, 500, 502, 503, 504)


def by_exit(code: int | None) -> FailureKind | None:
    """Return what an exit code that is an HTTP status modulo 256 says (seen on 0.61.0: 429 came as 173)."""
    status = next((status for status in _STATUSES if code is not None and status & 255 == code), None)
    return failures.by_status(status)


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed: events and words first, then the exit code."""
    found = failures.classify(ending, PHRASES)
    return (by_exit(ending.exit.code) or found) if found is FailureKind.TASK else found
