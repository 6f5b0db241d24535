"""What was typed and what is known, on its way to an answer; and the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...messages.vocabulary import Tier
from .aliases import ALIASES, DEFAULT_MODELS, Alias
from .tiers import tier_of

_OWN_TIER = frozenset({"local", "embedded"})
"""Lanes of which it is known how strong a model is that nobody knows: what fits on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Where a job goes. ``model`` None is the lane's own default."""

    lane: str
    model: str | None
    tier: Tier
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooseByReadiness:
    """More than one lane would do: the caller takes the first of these that is ready."""

    candidates: tuple[Resolved, ...]


def _no_price(_model: str) -> Tier | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What this person's machine knows beyond the tables. Read by the caller."""

    own: Mapping[str, Alias] = field(default_factory=dict)
    """Rows of ``models.local``; they stand in front of the table."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Lane → model when none is named, in front of ``DEFAULT_MODELS``."""
    listed: frozenset[str] = frozenset()
    """Ids of the cached OpenRouter catalogue."""
    price_tier: Callable[[str], Tier | None] = _no_price
    """The tier that an id's cached price suggests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question to the catalog."""

    tier: Tier | None
    lanes: Mapping[str, Tier]
    known: Known
    lane: str | None = None

    def row(self, word: str) -> Alias | None:
        """Return what a word stands for: the person's own rows first."""
        own = self.known.own.get(word)
        return own or ALIASES.get(word) or ALIASES.get(word.lower())

    def tier_of_row(self, word: str) -> Tier | None:
        """Return the tier of a word's row."""
        row = self.row(word)
        return None if row is None else row.tier

    def default(self, lane: str, *notices: str) -> Resolved:
        """Return the lane with the model it takes when none is named."""
        model = self.known.defaults.get(lane) or DEFAULT_MODELS.get(lane)
        return self.to(lane, model, self.tier_of_row(model) if model else None, *notices)

    def to(self, lane: str, model: str | None, tier: Tier | None, *notices: str) -> Resolved:
        """Return the result. The tier is the flag's, the table's, the name's, the price's, else mid."""
        guess = self.lanes[lane] if model is None else tier or self._guess(lane, model)
        return Resolved(lane=lane, model=model, tier=self.tier or guess, notices=notices)

    def _guess(self, lane: str, model: str) -> Tier:
        if lane == "embedded":  # the model is a file, and a file's name promises nothing
            return self.lanes[lane]
        row = self.row(model.partition("[")[0])  # ``sonnet[1m]`` is a sonnet
        by_name = row.tier if row is not None else tier_of(model)
        found = by_name or self.known.price_tier(model)
        declared = lane in _OWN_TIER or lane not in VENDOR_LANES
        return found or (self.lanes[lane] if declared else Tier.MID)


VENDOR_LANES = frozenset({"claude", "codex", "gemini", "cc", "codexor", "claudex"})
"""Lanes whose own tier is that of their best models and says nothing of an unknown one."""
