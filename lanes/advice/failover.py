"""Where a job goes whose lane failed it: one pure decision, a step at a time.

- A start that another start of the same CLI was in the way of is made again, on the same lane: no model was asked.
- A task failure goes nowhere. A transport failure of a job that changes nothing goes down a shortlist.
- A spent plan moves any job: to the same model elsewhere, else to the nearest tier.
- A model that was named stays that model. Cash is never spent unasked, what is local stays local, and no lane
  gets the same prompt twice, unless its CLI could not even start.

The caller finds out whether the lane that was picked is ready; one that is not is marked so, and the next picked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...messages.lane_events import FailureKind
from ...messages.model_names import canonical
from ...messages.vocabulary import Tier, Verb
from .options import Option

TIERS = tuple(Tier)
KINDS = ("free", "plan", "unknown", "metered")
"""Who pays, cheapest for the person first."""

CASH_SWITCH = "OSRC_FAILOVER_CASH_OK=1"
_PASSING = frozenset({FailureKind.TRANSPORT, FailureKind.RATE_LIMIT})
STARTS = 5
"""How often a job is started in all whose CLI is kept from starting by other starts of it."""
_NAMED = 4
"""Lanes that a sentence names with their reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverPolicy:
    """What the person's settings allow."""

    fallback: bool = True
    fallback_max: int = 3
    """Attempts in all after transport failures, the first included."""
    fallback_pinned: bool = False
    cross_lane: bool = True
    failover_max: int = 2
    """Moves after plan limits."""
    cash_ok: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A job whose attempt has just failed."""

    verb: Verb
    lane: str
    model: str | None
    """The id that was sent; None: the lane's own default."""
    tier: Tier
    key: str
    """The key of its pool (``state/limits.py``)."""
    failure: FailureKind
    pinned: bool = False
    """Whether the person named the model."""
    local: bool = False
    """Whether it ran on this machine: then it stays there."""
    bound: str | None = None
    """Why it can't leave its lane at all (it continues a conversation); None: it can."""
    tried: frozenset[tuple[str, str]] = frozenset()
    """Lane and model key of every attempt so far."""
    transport_moves: int = 0
    limit_moves: int = 0
    starts: int = 1
    """Starts of this job that others were in the way of, this one included."""
    chain: tuple[str, ...] = ()
    """Models of the lane's own chain that come next."""
    policy: FailoverPolicy = field(default_factory=FailoverPolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """The next attempt."""

    lane: str
    model: str | None
    tier: Tier
    why: str
    """One sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """There is none, and why."""

    why: str | None
    """None where nobody would expect one (the task itself failed)."""
    until: float | None = None
    """Epoch seconds when the soonest of the lanes that are down is up again."""


def next_hop(case: Case, options: Sequence[Option]) -> Hop | Stop:
    """Return the next attempt of a failed job, or why there is none."""
    if case.failure is FailureKind.CONTENDED:
        return _anew(case)
    passing = case.failure in _PASSING
    if not passing and case.failure is not FailureKind.PLAN_LIMIT:
        return Stop(why=None)
    if passing and not case.verb.read_only:
        return Stop(why=f"not tried elsewhere: {case.verb.value} may have changed something already")
    if case.bound is not None:
        return Stop(why=f"not tried elsewhere: {case.bound}")
    refused = _exhausted(case) if passing else _moved_enough(case)
    chained = _chained(case) if passing and refused is None else None
    if refused is not None or chained is not None:
        return chained or Stop(why=refused)
    return _elsewhere(case, options)


def _anew(case: Case) -> Hop | Stop:
    """Return the same once more, unless it has been tried often enough."""
    if case.starts >= STARTS:
        return Stop(why=f"not started again: others were in its way at {case.starts} starts")
    why = f"{case.lane}: another start of it was in the way; it is started again"
    return Hop(lane=case.lane, model=case.model, tier=case.tier, why=why)


def shortlist(case: Case, options: Iterable[Option]) -> list[Option]:
    """Return where the job may go, best first; what hinders one is not looked at."""
    lanes = {lane for lane, _ in case.tried} | {case.lane}
    stays = case.pinned and not (case.policy.fallback_pinned and case.failure in _PASSING)
    found = [
        option
        for option in options
        if option.lane not in lanes and (option.local or not case.local) and (option.same or not stays)
    ]
    order = {lane: place for place, lane in enumerate(dict.fromkeys(option.lane for option in options))}
    found.sort(key=lambda option: (*_distance(case, option), KINDS.index(option.kind), order[option.lane]))
    first: dict[str, Option] = {}
    for option in found:
        first.setdefault(option.lane, option)
    return list(first.values())


def _distance(case: Case, option: Option) -> tuple[bool, int, int]:
    """Return how far an option is from what failed: the same model first, then the nearest tier, then the cheaper."""
    if option.same:
        return False, 0, 0
    wanted, offered = TIERS.index(case.tier), TIERS.index(option.tier)
    return True, abs(wanted - offered), -offered


def _exhausted(case: Case) -> str | None:
    if not case.policy.fallback:
        return "not tried elsewhere: OSRC_FALLBACK=0"
    if case.transport_moves + 1 >= case.policy.fallback_max and not case.chain:
        return f"not tried further: {case.transport_moves + 1} attempts were made (OSRC_FALLBACK_MAX)"
    return None


def _moved_enough(case: Case) -> str | None:
    if case.limit_moves >= case.policy.failover_max:
        return f"not moved further: {case.limit_moves} moves were made (OSRC_FAILOVER_MAX)"
    return None


def _chained(case: Case) -> Hop | None:
    """Return the next model of the lane's own chain."""
    for model in case.chain:
        if (case.lane, canonical(model)) not in case.tried and canonical(model) != canonical(case.model):
            return Hop(lane=case.lane, model=model, tier=case.tier, why=f"the next model of the offload chain: {model}")
    return None


def _elsewhere(case: Case, options: Sequence[Option]) -> Hop | Stop:
    passing = case.failure in _PASSING
    if passing and not case.policy.cross_lane:
        return Stop(why="not tried elsewhere: OSRC_NO_CROSS_LANE=1")
    if passing and case.transport_moves + 1 >= case.policy.fallback_max:
        return Stop(why=f"not tried further: {case.transport_moves + 1} attempts were made (OSRC_FALLBACK_MAX)")
    candidates = shortlist(case, options)
    cash: list[Option] = []
    hindered: list[Option] = []
    for option in candidates:
        if option.why_not is not None:
            hindered.append(option)
        elif case.failure is FailureKind.PLAN_LIMIT and option.key == case.key:
            hindered.append(option.hindered("it spends the same limit"))
        elif _costs(case, option):
            cash.append(option)
        else:
            return Hop(lane=option.lane, model=option.model, tier=option.tier, why=_reason(case, option))
    return Stop(why=_nowhere(case, cash, hindered), until=min(_times(hindered), default=None))


def _costs(case: Case, option: Option) -> bool:
    """Whether going there may spend cash that nobody agreed to; the purse that was open already may be used."""
    return option.kind in ("metered", "unknown") and not case.policy.cash_ok and option.key != case.key


def _reason(case: Case, option: Option) -> str:
    what = {FailureKind.PLAN_LIMIT: "its limit is used up", FailureKind.RATE_LIMIT: "it refused more requests"}
    said = f"{case.lane}: {what.get(case.failure, 'its service could not be reached')}"
    if option.same:
        return f"{said}; the same model on {option.lane}"
    tier = "the same tier" if option.tier is case.tier else f"tier {option.tier.value}, the nearest"
    return f"{said}; {option.model or 'the own model'} of {option.lane} ({tier})"


def _nowhere(case: Case, cash: list[Option], hindered: list[Option]) -> str:
    hindered = sorted(hindered, key=lambda option: option.until is None)  # those that come back first
    parts = [f"{option.lane}: {option.why_not}" for option in hindered[:_NAMED]]
    if len(hindered) > _NAMED:
        parts.append(f"{len(hindered) - _NAMED} more")
    kept = f" {case.model} was named (-m) and is not replaced;" if case.pinned and case.model else ""
    sentence = f"nowhere else to go:{kept} {'; '.join(parts) or 'no other lane can do it'}"
    if cash:
        sentence += f"; {CASH_SWITCH} would allow {', '.join(option.lane for option in cash[:_NAMED])}, which may cost"
    return sentence


def _times(options: Iterable[Option]) -> list[float]:
    return [option.until for option in options if option.until is not None]
