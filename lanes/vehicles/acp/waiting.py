"""An agent that was given a prompt and says nothing: whether it waits for its provider. Pure.

The protocol has no word for a retry. qwen 0.24.4 tries a provider that refuses for minutes (or for as long as a
``Retry-After`` says) and tells nobody; others complain on stderr. What stands there counts only until the turn has
begun: later on it may be anybody's words.
"""

from __future__ import annotations

from ....messages.vocabulary import FailureKind
from ... import failures
from ...values import MESSAGE_CHARS, clip
from .updates import PHRASES


def spent(line: str) -> str | None:
    """Return a line of an agent's stderr that tells that its plan's limit is used up, or None."""
    return clip(line.strip(), MESSAGE_CHARS) if failures.by_words(line, PHRASES) is FailureKind.PLAN_LIMIT else None


def silent(name: str, seconds: float) -> str:
    """Return the words for an agent that was given up."""
    return (
        f"{name} said nothing for {seconds:.0f} s after the prompt: its provider may be refusing it (a limit, a "
        "connection), which it does not tell"
    )
