"""An agent that was given a prompt and says nothing: whether it waits for its provider. Pure.

The protocol has no word for a retry. qwen 0.24.4 tries a provider that refuses for minutes (or for as long as a
``Retry-After`` says) and tells nobody; others complain on stderr. What stands there counts only until the turn has
begun: later on it may be anybody's words.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....messages.lane_events import FailureKind
from ... import failures
from ...text_delegates import positive_number
from ...values import MESSAGE_CHARS, clip
from .updates import PHRASES

FIRST_OUTPUT_S = 150.0
"""How long a job may be silent at first, where neither its lane nor the person says otherwise (state/watchdog.py)."""
_BEFORE_S = 15.0
_LEAST_S = 5.0


def spent(line: str) -> str | None:
    """Return a line of an agent's stderr that tells that its plan's limit is used up, or None."""
    return clip(line.strip(), MESSAGE_CHARS) if failures.by_words(line, PHRASES) is FailureKind.PLAN_LIMIT else None


def quiet_s(environment: Mapping[str, str], first_output_s: float | None) -> float:
    """Return how long to wait for an agent's first word: a little less than the watchdog, which knows no reason."""
    whole = positive_number(environment.get("OSRC_NOINIT_SECS")) or first_output_s or FIRST_OUTPUT_S
    return max(_LEAST_S, whole - _BEFORE_S)


def silent(name: str, seconds: float) -> str:
    """Return the words for an agent that was given up."""
    return (
        f"{name} said nothing for {seconds:.0f} s after the prompt: its provider may be refusing it (a limit, a "
        "connection), which it does not tell"
    )
