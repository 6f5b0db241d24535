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
            "hour allocated quota exceeded",  # documented: the vendor's coding plan
            "allocated quota exceeded.",
        ),
    ),
    (
        FailureKind.AUTH,
        ("no auth type is selected", "invalid access token.", "missing api key for", "missing api key."),
    ),
    (FailureKind.TRANSPORT, ("terminated.",)),
)

NOT_STARTED = ("Unknown argument", "Invalid values", "Unknown arguments")


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed."""
    return failures.classify(ending, PHRASES)
