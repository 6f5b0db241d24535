"""Why Cline says that a run failed, told from its words: its result carries no status. Seen on 3.0.65."""

from __future__ import annotations

from ...messages.lane_events import FailureKind
from .. import failures
from ..contract import Ending

PHRASES: failures.Phrases = (
    (
        FailureKind.PLAN_LIMIT,
        (
            "inference_cap_error",
            "daily limit reached",
            "weekly limit reached",
            "monthly limit reached",
            "daily free limit reached",
            "weekly free limit reached",
            "monthly free limit reached",
            "usage limit has been reached",
            "exceeded your current quota",
            "insufficient credits",
            "insufficient balance",
        ),
    ),
    (FailureKind.AUTH, ("no api key", "api key is required", "please sign in")),
    (FailureKind.TRANSPORT, ("the server had an error", "cannot connect to api")),
)
"""Words of its own provider and of the usual ones, 2026-11."""


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed."""
    return failures.classify(ending, PHRASES)
