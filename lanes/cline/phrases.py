"""Why Cline says that a run failed, told from its words: its result carries no status. Seen on 3.0.65."""

from __future__ import annotations

from ...messages.lane_events import FailureKind
from .. import failures
from ..contract import Ending

PHRASES: failures.Phrases = (
    (
        FailureKind.PLAN_LIMIT,
        (
            "inference_cap_error.",
            "daily limit reached.",
            "monthly limit reached.",
            "daily free limit reached for",
            "weekly free limit reached for",
            "monthly free limit reached for",
            "daily free limit reached.",
            "weekly free limit reached.",
            "monthly free limit reached.",
            "insufficient credits.",
            "insufficient balance.",
        ),
    ),
    (
        FailureKind.AUTH,
        ("no api key.", "no api key found.", "api key is required.", "please sign in.", "please sign in to cline"),
    ),
    (
        FailureKind.TRANSPORT,
        (
            "server had an error while processing",
            "server had an error.",
            "cannot connect to api:",
            "cannot connect to api.",
        ),
    ),
)
"""Words of its own provider and of the usual ones, 2026-11."""


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed."""
    return failures.classify(ending, PHRASES)
