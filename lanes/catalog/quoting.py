"""What one plain answer would cost, reckoned from a task's length. Pure; every figure is an estimate."""

from __future__ import annotations

from .listing import Listed

OUTPUT_TOKENS = 2000
"""A usual answer."""


def prompt_tokens(task: str) -> int:
    """Return about how many tokens a task has: a token is some 3.3 characters.

    >>> prompt_tokens("x" * 33), prompt_tokens("")
    (10, 0)
    """
    return tokens_in(len(task))


def tokens_in(characters: int) -> int:
    """Return about how many tokens so many characters are."""
    return -(-characters * 10 // 33)


def quote(model: Listed | None, given: int, output: int = OUTPUT_TOKENS) -> float | None:
    """Return what the tokens cost at list price, in USD; None where a price is not known."""
    if model is None or model.prompt is None or model.completion is None:
        return None
    return given * model.prompt + output * model.completion
