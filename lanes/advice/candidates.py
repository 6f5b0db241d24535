"""Every model that advice may choose from: the tables, the person's own rows, the best of OpenRouter's catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ...messages.model_names import canonical
from ...messages.vocabulary import Tier
from ..catalog.aliases import ALIASES, DUAL
from ..catalog.asking import Known
from ..catalog.benchmarks import Benchmarks
from ..catalog.dealing import for_text
from ..catalog.listing import MILLION, Listed
from ..catalog.tiers import tier_of
from .options import OPENROUTER

PayKind = Literal["free", "plan", "metered", "unknown"]
_key = lru_cache(maxsize=32_768)(canonical)
"""A catalogue's ids are the same each time: making their keys anew would be most of the work."""

BANDS = ((55.0, Tier.FRONTIER), (44.0, Tier.CAPABLE), (38.0, Tier.MID), (28.0, Tier.BUDGET))
"""Intelligence index from which on a model of the catalogue that no table names is of a tier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """Who pays on a lane."""

    kind: PayKind
    pool: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One model on one lane."""

    word: str
    """What ``-m`` takes."""
    model: str | None
    lane: str
    tier: Tier
    purse: Purse
    key: str
    """The model's key, by which its scores and its other lanes are found."""
    usd_m: float | None = None
    """Price of a million prompt tokens in cash; None: unknown. A plan's is 0."""
    listed: bool = False
    """Whether only OpenRouter's catalogue names it."""


def candidates(
    purses: Mapping[str, Purse],
    known: Known,
    listing: Mapping[str, Listed],
    benchmarks: Benchmarks,
    dynamic_max: int,
) -> list[Candidate]:
    """Return each model once for every lane that has it. ``purses`` are the lanes that come into question."""
    found: dict[tuple[str, str], Candidate] = {}
    rows = (*_own(known), *_table(), *_dual(), *_catalogue(listing, benchmarks, dynamic_max))
    for word, model, lane, tier, listed in rows:
        purse = purses.get(lane)
        if purse is None:
            continue
        key = canonical(model)
        usd_m = _usd_m(purse, listing.get(model))
        one = Candidate(word=word, model=model, lane=lane, tier=tier, purse=purse, key=key, usd_m=usd_m, listed=listed)
        found.setdefault((lane, key), one)
    local = purses.get("local")
    if local is not None:
        found[("local", "")] = Candidate(
            word="local", model=None, lane="local", tier=Tier.RAW, purse=local, key="", usd_m=0.0
        )
    return list(found.values())


Row = tuple[str, str, str, Tier, bool]
"""Word, model, lane, tier, whether only the catalogue has it."""


def _own(known: Known) -> Iterator[Row]:
    for word, row in known.own.items():
        if row.use == "text":
            yield word, row.model, row.lane, row.tier, False


def _table() -> Iterator[Row]:
    for word, row in ALIASES.items():
        if row.use == "text" and word not in DUAL:
            yield word, row.model, row.lane, row.tier, False


def _dual() -> Iterator[Row]:
    for word, dual in DUAL.items():
        yield dual.devin, dual.devin, "devin", ALIASES[word].tier, False
        yield dual.openrouter, dual.openrouter, "cc", ALIASES[word].tier, False


def _catalogue(listing: Mapping[str, Listed], benchmarks: Benchmarks, most: int) -> Iterable[Row]:
    """Return the catalogue's models with the best scores; those that nobody measured are no candidates."""
    if most <= 0 or not benchmarks.scores:
        return
    measured = []
    for model, row in listing.items():
        if row.completion is None:
            continue
        scores = benchmarks.scores.get(_key(model))
        if scores is not None and for_text(row):
            values = [one for one in (scores.intelligence, scores.coding, scores.agentic) if one is not None]
            measured.append((max(values), model, scores.intelligence))
    measured.sort(key=lambda one: (-one[0], one[1]))
    for best, model, intelligence in measured[:most]:
        yield model, model, OPENROUTER[0], tier_of(model) or _band(best if intelligence is None else intelligence), True


def _band(score: float) -> Tier:
    return next((tier for least, tier in BANDS if score >= least), Tier.RAW)


def _usd_m(purse: Purse, listed: Listed | None) -> float | None:
    if purse.kind in ("free", "plan"):
        return 0.0
    return None if listed is None or listed.prompt is None else listed.prompt * MILLION
