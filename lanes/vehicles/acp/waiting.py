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

COMPLAINED_S, SILENT_S = 60.0, 300.0
"""How long an agent may say nothing after a prompt until that is told: where it writes to stderr, and else."""


def spent(line: str) -> str | None:
    """Return a line of an agent's stderr that tells that its plan's limit is used up, or None."""
    return clip(line.strip(), MESSAGE_CHARS) if failures.by_words(line, PHRASES) is FailureKind.PLAN_LIMIT else None


def silent(name: str, seconds: float) -> str:
    """Return the words for an agent that was given up."""
    return (
        f"{name} said nothing for {seconds:.0f} s after the prompt: its provider may be refusing it (a limit, a "
        "connection), which it does not tell"
    )


def unheard(seconds: float, said: str | None) -> str | None:
    """Return what is known of an agent that said nothing so long after a prompt; None while that is nothing odd.

    ``said`` is the last that it wrote to stderr since then.
    """
    if said is not None and seconds >= COMPLAINED_S:
        return f"nothing was heard for {COMPLAINED_S:.0f} s after the prompt; on stderr it said: {said}"
    if seconds >= SILENT_S:
        return f"nothing was heard for {SILENT_S:.0f} s after the prompt"
    return None
