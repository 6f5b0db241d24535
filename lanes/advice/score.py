"""Which model a task should go to: one pure function over what was measured, learned and is left of limits.

    score = benchmark (or the tier's proxy) x own history x what is left of the plan's limit

A model *meets* a kind of task when its score reaches the kind's threshold. Of those that meet it, the lightest
tier that does the work is preferred, and of that tier the best value for money; a frontier model is taken where
the work needs one or nothing else meets it. The winner then runs on the cheapest lane that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...messages.vocabulary import Effort, Tier
from ..catalog.benchmarks import Benchmarks, Scores
from .candidates import Candidate
from .classify import Classified, Kind
from .failover import KINDS
from .history import Outcome, Past, past

FIELDS: Mapping[Kind, str] = {
    Kind.CODE: "coding",
    Kind.REASONING: "intelligence",
    Kind.AGENTIC: "agentic",
    Kind.CREATIVE: "intelligence",
    Kind.SIMPLE: "intelligence",
}
THRESHOLDS: Mapping[Kind, float] = {
    Kind.CODE: 60.0,
    Kind.REASONING: 45.0,
    Kind.AGENTIC: 35.0,
    Kind.CREATIVE: 45.0,
    Kind.SIMPLE: 0.0,
}
PROXIES: Mapping[str, Mapping[Tier, float]] = {
    "coding": {Tier.FRONTIER: 70, Tier.CAPABLE: 62, Tier.MID: 52, Tier.BUDGET: 40, Tier.RAW: 30},
    "intelligence": {Tier.FRONTIER: 58, Tier.CAPABLE: 48, Tier.MID: 40, Tier.BUDGET: 30, Tier.RAW: 24},
    "agentic": {Tier.FRONTIER: 50, Tier.CAPABLE: 38, Tier.MID: 30, Tier.BUDGET: 20, Tier.RAW: 12},
}
"""What a tier stands for where a model was not measured."""

HARDER: Mapping[str, float] = {"easy": -10.0, "normal": 0.0, "hard": 5.0}
EFFORTS: Mapping[Effort, float] = {
    Effort.MINIMAL: -4.0,
    Effort.LOW: -2.0,
    Effort.MEDIUM: 0.0,
    Effort.HIGH: 1.0,
    Effort.XHIGH: 3.0,
    Effort.MAX: 5.0,
}
LIGHT_FIRST = (Tier.BUDGET, Tier.MID, Tier.CAPABLE, Tier.RAW, Tier.FRONTIER)
CAPABLE_FIRST = (Tier.CAPABLE, Tier.MID, Tier.BUDGET, Tier.RAW, Tier.FRONTIER)
CHEAPEST_USD_M = 0.01
HAIRCUT = 0.10
"""What a plan that is all but spent takes off a score."""
_LIGHT = frozenset({"flash", "lite", "mini", "lightning", "nano", "small", "fast", "air"})
_RUNGS = tuple(effort.value for effort in Effort)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything a recommendation depends on, read by the caller."""

    task: Classified
    candidates: Sequence[Candidate]
    effort: Effort | None = None
    benchmarks: Benchmarks = field(default_factory=Benchmarks)
    outcomes: Sequence[Outcome] = ()
    project: str | None = None
    now: float = 0.0
    used: Mapping[str, float] = field(default_factory=dict)
    """Pool → percent of its fullest window that is used, where that is known and fresh."""
    conserve_at: float = 50.0
    router: bool = True
    cash: bool = True
    """Whether what costs cash, or may, can be recommended."""
    why_not: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Lane and model key → what is in the way; the empty key stands for the whole lane."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A candidate with what it is worth for this task."""

    candidate: Candidate
    score: float
    measured: bool
    """Whether the score rests on a benchmark and not on the tier's proxy."""
    meets: bool
    value: float | None
    """Score for a USD per million tokens; None where the price is unknown."""
    past: Past
    haircut: float
    lighter_preferred: bool = False
    """Whether a lighter sibling on its lane does as well."""
    why_not: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The answer. ``pick`` None: nothing that is here may be recommended."""

    pick: Scored | None
    reason: str
    ranked: tuple[Scored, ...]
    field: str
    threshold: float
    effort: Effort
    frontier: bool
    moved_from: str | None = None
    """The lane that the winner was found on, where the router moved it."""
    coverage: tuple[int, int] = (0, 0)
    """Candidates that were measured, of all."""


def advise(situation: Situation) -> Advice:
    """Return which model and lane a task should go to, and why. Never raises; the same input, the same answer."""
    task = situation.task
    effort = situation.effort or (Effort.HIGH if task.difficulty == "hard" else Effort.MEDIUM)
    frontier = task.frontier or situation.effort is Effort.MAX
    threshold = _threshold(task, situation.effort)
    scored = _siblings([_scored(situation, one, threshold) for one in situation.candidates], effort, off=frontier)
    ranked = _ranked(scored, effort, _order(task))
    open_ways = [one for one in ranked if one.why_not is None and (situation.cash or not _costs(one.candidate))]
    pick, reason = _pick(open_ways, frontier=frontier, order=_order(task))
    moved = None
    if pick is not None and situation.router:
        cheaper = _routed(pick, open_ways, situation)
        if cheaper is not pick:
            moved, pick = pick.candidate.lane, cheaper
            reason += f"; {cheaper.candidate.lane} has the same model and is cheaper than {moved}"
    return Advice(
        pick=pick,
        reason=reason,
        ranked=tuple(ranked),
        field=f"{FIELDS[task.kind]}_index",
        threshold=threshold,
        effort=effort,
        frontier=frontier,
        moved_from=moved,
        coverage=(sum(one.measured for one in scored), len(scored)),
    )


def _threshold(task: Classified, effort: Effort | None) -> float:
    base = THRESHOLDS[task.kind]
    if not base:
        return 0.0
    return max(0.0, base + HARDER[task.difficulty] + (EFFORTS[effort] if effort is not None else 0.0))


def _order(task: Classified) -> tuple[Tier, ...]:
    return LIGHT_FIRST if task.kind is Kind.SIMPLE or task.difficulty == "easy" else CAPABLE_FIRST


def _scored(situation: Situation, one: Candidate, threshold: float) -> Scored:
    name = FIELDS[situation.task.kind]
    seen = _index(situation.benchmarks.of(one.key), name)
    base = PROXIES[name][one.tier] if seen is None else seen
    learned = past(situation.outcomes, one.key, situation.task.kind.value, situation.project, situation.now)
    cut = haircut(situation.used.get(one.purse.pool), situation.conserve_at) if one.purse.kind == "plan" else 1.0
    score = base * learned.multiplier * cut
    value = None if one.usd_m is None else score / max(one.usd_m, CHEAPEST_USD_M)
    hindered = situation.why_not.get((one.lane, one.key)) or situation.why_not.get((one.lane, ""))
    return Scored(
        candidate=one,
        score=score,
        measured=seen is not None,
        meets=score >= threshold,
        value=value,
        past=learned,
        haircut=cut,
        why_not=hindered,
    )


def _index(scores: Scores | None, name: str) -> float | None:
    if scores is None:
        return None
    return {"coding": scores.coding, "intelligence": scores.intelligence, "agentic": scores.agentic}[name]


def haircut(used: float | None, conserve_at: float) -> float:
    """Return what a plan's use leaves of a score: 1 up to the conserve line, falling to 0.9 when it is spent.

    >>> haircut(None, 50), haircut(40, 50), haircut(75, 50), haircut(100, 50)
    (1.0, 1.0, 0.95, 0.9)
    """
    if used is None or used <= conserve_at or conserve_at >= 100:
        return 1.0
    return 1.0 - HAIRCUT * (min(used, 100.0) - conserve_at) / (100.0 - conserve_at)


def weight_of(key: str, effort: Effort) -> int:
    """Return how heavy a variant is: 0 for a light one, 10 for a full one, and how far its effort is from the asked."""
    words = key.split("-")
    rung = next((_RUNGS.index(word) for word in reversed(words) if word in _RUNGS), None)
    far = 0 if rung is None else abs(rung - _RUNGS.index(effort.value))
    return (0 if _LIGHT.intersection(words) else 10) + far


def family(key: str) -> str:
    """Return what variants of one model share: its key without the words for size and effort."""
    return "-".join(word for word in key.split("-") if word not in _LIGHT and word not in _RUNGS)


def _siblings(scored: list[Scored], effort: Effort, *, off: bool) -> list[Scored]:
    """Mark those of which a lighter sibling on the same lane does the work too."""
    if off or effort is Effort.MAX:
        return scored
    lightest: dict[tuple[str, str], int] = {}
    for one in scored:
        if one.meets and one.why_not is None:
            place = (one.candidate.lane, family(one.candidate.key))
            lightest[place] = min(lightest.get(place, 99), weight_of(one.candidate.key, effort))
    return [
        replace(one, lighter_preferred=True)
        if weight_of(one.candidate.key, effort) > lightest.get((one.candidate.lane, family(one.candidate.key)), 99)
        else one
        for one in scored
    ]


def _ranked(scored: Sequence[Scored], effort: Effort, order: tuple[Tier, ...]) -> list[Scored]:
    """Return all, those first that meet the threshold, in the tiers' order, the best value first.

    What something is in the way of comes last.
    """

    def place(one: Scored) -> tuple[bool, bool, bool, int, float, float, int, str]:
        return (
            one.why_not is not None,
            not one.meets,
            one.lighter_preferred,
            order.index(one.candidate.tier) if one.meets else 0,
            -(one.value or 0.0) if one.meets else 0.0,
            -one.score,
            weight_of(one.candidate.key, effort),
            f"{one.candidate.lane}:{one.candidate.word}",
        )

    return sorted(scored, key=place)


def _costs(one: Candidate) -> bool:
    return one.purse.kind in ("metered", "unknown") and one.usd_m != 0


def _pick(ways: Sequence[Scored], *, frontier: bool, order: tuple[Tier, ...]) -> tuple[Scored | None, str]:
    if not ways:
        return None, "no lane that is ready has a model for it"
    if frontier:
        strong = [one for one in ways if one.candidate.tier is Tier.FRONTIER]
        if strong:
            return _best(strong, lambda one: one.score), "the work asks for a frontier model; this one scores highest"
    meeting = [one for one in ways if one.meets]
    if frontier or not meeting:
        best = _best(ways, lambda one: one.score)
        missing = "no frontier model is ready" if frontier else "nothing that is ready meets the threshold"
        return best, f"{missing}: this one scores highest; consider a stronger lane"
    first = meeting[0]
    if first.candidate.tier is order[0]:
        return first, f"the best value of tier {first.candidate.tier.value} that meets the threshold"
    plans = [one for one in meeting if one.candidate.usd_m == 0 and one.candidate.tier is first.candidate.tier]
    if plans:
        return _best(plans, lambda one: one.score), (
            f"no {order[0].value} model that is ready meets the threshold; the best of a plan that does"
        )
    return first, f"no {order[0].value} model that is ready meets the threshold; the best value that does"


def _best(ways: Sequence[Scored], worth: Callable[[Scored], float]) -> Scored:
    """Return the one that is worth most; one that a lighter sibling replaces only where there is no other."""
    return max(ways, key=lambda one: (not one.lighter_preferred, worth(one)))


def _routed(pick: Scored, ways: Sequence[Scored], situation: Situation) -> Scored:
    """Return the same model on its cheapest lane. Ties stay; a lane whose bill is unknown never wins."""
    if not pick.candidate.key:
        return pick
    best = pick
    for one in ways:
        same = one.candidate.key == pick.candidate.key and one.candidate.purse.kind != "unknown"
        if same and _price(one, situation) < _price(best, situation):
            best = one
    return best


def _price(one: Scored, situation: Situation) -> tuple[int, float]:
    """Return what a lane costs: who pays, then how much; a plan past the conserve line comes after a purse."""
    purse, cash = one.candidate.purse, one.candidate.usd_m
    spent = purse.kind == "plan" and situation.used.get(purse.pool, 0.0) > situation.conserve_at
    return (KINDS.index("metered") if spent else KINDS.index(purse.kind)), 999.0 if spent or cash is None else cash
