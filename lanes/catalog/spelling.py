"""A name that is one slip away from a known one: asked about, instead of being sent to a service as it is.

    opuss -> opus · sonet -> sonnet · gpt5.5 -> gpt-5.5

A version that nobody knows yet is no slip: where a digit differs, another model is meant (``glm-5.4``).
"""

from __future__ import annotations

from collections.abc import Iterable

from ...messages.refusals import RefusalCode, Refused
from .aliases import ALIASES
from .asking import Ask
from .providers import ABSENT, SYNONYMS

SHORTEST = 4
"""Letters of the shortest word that a slip is looked for in: three-letter words have too many neighbours."""


def misspelt(ask: Ask, model: str, lane: str | None = None) -> Refused | None:
    """Refuse a model that nobody knows and that is one slip away from a known one, with that one; else None.

    ``lane`` is the lane that was named: its own name and that of any lane is a known word where none was.
    """
    word = model.lower().partition("[")[0]  # ``opus[1m]`` is an opus
    if model in ask.known.own or word in ALIASES or model in ask.known.listed or word in SYNONYMS or word in ABSENT:
        return None
    meant = nearest(word, _known(ask, lane))
    if meant is None:
        return None
    where = f"--lane {lane} " if lane is not None else ""
    own = f"if {model} is meant, give it a row in models.local: {model}|{model}|LANE|TIER"
    return Refused(
        code=RefusalCode.UNKNOWN_MODEL,
        message=f"No model {model!r} is known. Did you mean {meant}?",
        hint=f"{where}-m {meant}; {own}",
    )


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the first of the known words that is one slip away from ``word``, which is none of them; else None."""
    if len(word) < SHORTEST:
        return None
    return next((one for one in known if len(one) >= SHORTEST and one_slip(word, one.lower())), None)


def one_slip(typed: str, meant: str) -> bool:
    """Whether one letter or sign too many, too few or wrong, or two neighbours in the wrong order, part the two."""
    if typed == meant or abs(len(typed) - len(meant)) > 1:
        return False
    start = 0
    while start < min(len(typed), len(meant)) and typed[start] == meant[start]:
        start += 1
    end = 0
    while end < min(len(typed), len(meant)) - start and typed[-1 - end] == meant[-1 - end]:
        end += 1
    here, there = typed[start : len(typed) - end], meant[start : len(meant) - end]
    if any(sign.isdigit() for sign in here + there):
        return False
    return max(len(here), len(there)) == 1 or (len(here) == 2 and here == there[::-1])


def _known(ask: Ask, lane: str | None) -> Iterable[str]:
    yield from ask.known.own
    yield from (word for word, row in ALIASES.items() if row.use == "text")
    yield from (() if lane is not None else ask.lanes)
    yield from ask.known.listed
