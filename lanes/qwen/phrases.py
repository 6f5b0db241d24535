"""Why a turn on the qwen lane failed, told from its words. Seen on 0.24.4 where nothing else is said."""

from __future__ import annotations

from ...messages.lane_events import FailureKind
from .. import failures
from ..contract import Ending

PHRASES: failures.Phrases = (
    (
        FailureKind.PLAN_LIMIT,
        (
            "quota exhausted:",  # its own word for a limit that names its reset
            "allocated quota exceeded",  # documented: the vendor's coding plan
            "exceeded your current quota",  # an OpenAI-compatible service: the account is out of credit
        ),
    ),
    (FailureKind.AUTH, ("no auth type is selected", "invalid access token", "missing api key")),
    (FailureKind.TRANSPORT, ("connection error", "[api error: terminated")),
)

NOT_STARTED = ("Unknown argument", "Invalid values", "Unknown arguments")


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed."""
    return failures.classify(ending, PHRASES)
