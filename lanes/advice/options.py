"""What each lane could offer in place of a model: the same one under its own id, or one of the nearest tier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ...messages.model_names import canonical
from ...messages.vocabulary import Tier
from ..catalog.aliases import ALIASES, DEFAULT_MODELS, DUAL, Alias
from ..catalog.asking import Known
from ..catalog.tiers import tier_of
from ..rows import ROWS

ORDER = tuple(name for name, row in ROWS.items() if row.moved_to)
"""The built-in lanes that work may be moved to by itself, in this order; declared ones come after."""

OPENROUTER = ("cc", "codexor")
_KIMI = ("droid", "warp")
_TIERS = tuple(Tier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One way on."""

    lane: str
    model: str | None
    """None: the lane's own default."""
    tier: Tier
    same: bool
    """Whether it is the very model that failed elsewhere."""
    kind: Literal["free", "plan", "metered", "unknown"]
    key: str
    """The key of its pool (``state/limits.py``)."""
    local: bool = False
    why_not: str | None = None
    """What is in the way; None: nothing that is known."""
    until: float | None = None
    """Epoch seconds until which it is in the way, where that is known."""

    def hindered(self, why: str, until: float | None = None) -> Option:
        """Return the option with what is in its way."""
        return replace(self, why_not=why, until=until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A model that a lane has."""

    lane: str
    model: str | None
    tier: Tier
    same: bool


def offers(lanes: Mapping[str, Tier], model: str | None, tier: Tier, known: Known) -> list[Offer]:
    """Return at most two offers of every lane that may be moved to: the same model, and one of the nearest tier.

    ``lanes`` are those there are, with their default tiers; ``model`` is the id that failed.
    """
    names = [name for name in ORDER if name in lanes]
    names += sorted(name for name in lanes if name not in ROWS)
    key = canonical(model)
    found: list[Offer] = []
    for lane in names:
        twin = _twin(lane, key, known) if key else None
        if twin is not None:
            found.append(Offer(lane=lane, model=twin, tier=tier, same=True))
        found.append(_nearest(lane, lanes[lane], tier, known))
    return found


def _twin(lane: str, key: str, known: Known) -> str | None:
    """Return a lane's own id of the model, or None where it is not known to have it."""
    ids = [row.model for row in _rows(lane, known)]
    for dual in DUAL.values():
        ids += [dual.devin] if lane == "devin" else [dual.openrouter] if lane in OPENROUTER else []
    if lane in OPENROUTER:
        ids += sorted(known.listed)
    if lane in _KIMI:
        ids.append("kimi-k3")
    if lane == "claudex":
        ids += [row.model for row in _rows("codex", known)]
    return next((one for one in ids if canonical(one) == key), None)


def _nearest(lane: str, own: Tier, wanted: Tier, known: Known) -> Offer:
    """Return the lane's model of the nearest tier, of two as near the cheaper; its default where that is as near."""
    default = known.defaults.get(lane) or DEFAULT_MODELS.get(lane)
    row = known.own.get(default) or ALIASES.get(default) if default else None
    tier = row.tier if row else (tier_of(default) if default else None) or own
    best = Offer(lane=lane, model=default, tier=tier, same=False)
    for row in _rows(lane, known):
        if _far(row.tier, wanted) < _far(best.tier, wanted):
            best = Offer(lane=lane, model=row.model, tier=row.tier, same=False)
    return best


def _far(tier: Tier, wanted: Tier) -> tuple[int, int]:
    return abs(_TIERS.index(tier) - _TIERS.index(wanted)), -_TIERS.index(tier)


def _rows(lane: str, known: Known) -> Iterator[Alias]:
    """Yield a lane's text models: the person's own rows, then the table's."""
    rows: Iterable[Alias] = (*known.own.values(), *ALIASES.values())
    for row in rows:
        if row.use == "text" and (row.lane == lane or (lane == "codexor" and row.lane == "cc")):
            yield row
