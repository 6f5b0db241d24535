"""Advice as this machine, its limits and its past allow it: what ``lanes/advice`` decides on, read here.

Blocks: it asks the lanes that come into question whether they are ready. For threads, not for actors.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..lanes.advice.candidates import Purse, candidates
from ..lanes.advice.classify import Classified, classify
from ..lanes.advice.history import WINDOW_S, Outcome
from ..lanes.advice.score import Advice, Situation, advise
from ..lanes.advice.telling import advice_object
from ..lanes.catalog import Known, Resolved
from ..lanes.catalog.aliases import ALIASES
from ..lanes.catalog.pools import CLAUDE_PLAN
from ..lanes.contract import Billing, Lane
from ..lanes.registry import Registry
from ..messages.job import JobRequest
from ..messages.vocabulary import Effort, Verb
from ..state.driving_mode import read_mode
from ..state.errors import StateError
from ..state.gauges import Gauge, newest, pressure
from ..state.gauges_reader import stored
from ..state.home import Home
from ..state.limits import key_of
from ..state.outcomes import Told, outcomes
from ..state.reader import Reader
from ..state.settings import Settings
from .denylist import why_denied
from .host import billed, probe, usable, why_unready
from .limit_book import LimitBook
from .model_book import ModelBook, known_models
from .reported_gauges import told as told_elsewhere
from .secrets import named_secrets
from .work_tree import project_of

LANES = frozenset({row.lane for row in ALIASES.values()}) | {"devin", "cc", "local"}
"""Built-in lanes whose models are known by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What advice is asked about."""

    task: str
    cwd: str
    effort: Effort | None = None
    verb: Verb = Verb.RUN
    cash: bool = True
    """Whether what costs cash, or may, can be recommended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where it is asked: one person's machine."""

    home: Home
    registry: Registry
    models: ModelBook
    environment: Mapping[str, str]
    settings: Settings
    limits: LimitBook | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The answer."""

    kind: Classified
    advice: Advice
    notes: tuple[str, ...]
    """What it had to do without."""

    def view(self, task: str) -> dict[str, Any]:
        """Return the object that is printed."""
        return advice_object(task, self.kind, self.advice, self.notes)


def give(question: Question, place: Place, now: float | None = None) -> Given:
    """Return advice. Never fails for want of data: what is missing is in ``notes``."""
    at = time.time() if now is None else now
    kind = classify(question.task)
    lanes = place.registry.tiers()
    known = known_models(place.models, lanes, place.settings)
    here = _lanes(place.registry, known)
    listing, benchmarks = place.models.listing(), place.models.benchmarks()
    most = int(place.settings.number("advise_dynamic_max") or 0)
    paid = {name: billed(lane, place.environment, place.settings) for name, lane in here.items()}
    told, used, unread = _past(place, paid, at)
    situation = Situation(
        task=kind,
        candidates=candidates(
            {name: Purse(kind=billing.kind, pool=billing.pool, words=billing.words) for name, billing in paid.items()},
            known,
            listing,
            benchmarks,
            most,
        ),
        effort=question.effort,
        benchmarks=benchmarks,
        outcomes=[one for told_one in told if (one := _outcome(told_one)) is not None],
        project=project_root(question.cwd),
        now=at,
        used=used,
        conserve_at=_conserve_at(place.settings),
        router=place.settings.flag("advise_router"),
        cash=question.cash,
    )
    hindered = _hindered(situation, question, place, here)
    situation = replace(situation, why_not={**hindered, **_seen_wanting(place, here)})
    advice = _asked(situation, place, here)
    return Given(kind=kind, advice=advice, notes=(*_missing(place, advice, used), *unread))


def _lanes(registry: Registry, known: Known) -> dict[str, Lane]:
    """Return the lanes whose models are known by name."""
    wanted = LANES | {row.lane for row in known.own.values()}
    loaded = {name: registry.get(name) for name in registry.names() if name in wanted}
    return {name: lane for name, lane in loaded.items() if isinstance(lane, Lane)}


def _outcome(told: Told) -> Outcome | None:
    verdicts: dict[str, Literal["passed", "failed", "reverted"]] = {
        "passed": "passed",
        "failed": "failed",
        "reverted": "reverted",
    }
    verdict = verdicts.get(told.outcome)
    if verdict is None:
        return None
    return Outcome(verdict=verdict, model=told.model, kind=told.kind, project=told.project, at=told.at)


def _past(
    place: Place, paid: Mapping[str, Billing], now: float
) -> tuple[list[Told], dict[str, float], tuple[str, ...]]:
    """Return what was told of results, how far each pool is used, and what could not be read."""
    told: list[Told] = []
    used: dict[str, float] = {}
    kept: list[Gauge] = []
    unread: tuple[str, ...] = ()
    settings = place.settings
    try:
        with Reader(place.home.database) as reader:
            told = outcomes(reader, now - WINDOW_S)
            kept = stored(reader)
    except StateError as error:
        unread = (f"your own history can't be read: {error}",)
    known = newest([*kept, *told_elsewhere(os.fspath(place.home.root), place.environment)], now)
    for name, billing in paid.items():
        keys = (key_of(name, billing.pool), key_of(name, None))
        shares = (pressure(known, key, now, settings.number("limits_max_age") or 0.0) for key in keys)
        if (share := next((share for share in shares if share is not None), None)) is not None:
            used[billing.pool] = min(100.0, 100.0 * share)
    said = settings.number("cc_pressure")
    if said is not None and "claude" in paid:
        used[CLAUDE_PLAN.pool] = said
    return told, used, unread


def _conserve_at(settings: Settings) -> float:
    if not settings.flag("advise_conserve"):
        return 100.0
    line = settings.number("conserve_threshold")
    return 50.0 if line is None else line


def _hindered(
    situation: Situation, question: Question, place: Place, here: Mapping[str, Lane]
) -> dict[tuple[str, str], str]:
    """Return what is in the way that is known before any lane is asked."""
    found: dict[tuple[str, str], str] = {}
    known = known_models(place.models, place.registry.tiers(), place.settings)
    for name, lane in here.items():
        if question.verb not in lane.verbs:
            found[name, ""] = f"it can't honour {question.verb.value}"
    for one in situation.candidates:
        denied = why_denied(one.lane, one.model, place.settings, known)
        if denied is not None:
            found[one.lane, one.key] = denied
        elif place.limits is not None and (one.lane, "") not in found:
            hindrance = place.limits.hindrance(one.lane, one.purse.pool, one.model)
            if hindrance is not None:
                found[one.lane, one.key] = hindrance.sentence
    return found


def _seen_wanting(place: Place, here: Mapping[str, Lane]) -> dict[tuple[str, str], str]:
    """Return the lanes that a look at this machine's files is enough to see as not ready: they come last."""
    seen = {name: not_ready(lane, place) for name, lane in here.items() if not lane.needs and lane.status_argv is None}
    return {(name, ""): wanting for name, wanting in seen.items() if wanting is not None}


def _asked(situation: Situation, place: Place, here: Mapping[str, Lane]) -> Advice:
    """Return the best advice whose lane says that it is ready; only those that would win are asked."""
    ready: set[str] = set()
    while True:
        advice = advise(situation)
        lane = advice.pick.candidate.lane if advice.pick is not None else None
        if lane is None or lane in ready:
            return advice
        wanting = not_ready(here[lane], place)
        if wanting is None:
            ready.add(lane)
        else:
            situation = replace(situation, why_not={**situation.why_not, (lane, ""): wanting})


def not_ready(lane: Lane, place: Place) -> str | None:
    """Return what a lane lacks on this machine, asking it; None where it is ready."""
    asks = lane.status_argv is not None  # only its own command says whether somebody is signed in
    readiness = probe(lane, place.environment, place.settings, ask_version=asks)
    if usable(lane, readiness) and _keyless(lane, place.environment):
        return "there is no key for it"
    wanting = why_unready(lane, readiness)
    return f"{wanting}; {readiness.fix}" if wanting and readiness.signed_in is False and readiness.fix else wanting


def _keyless(lane: Lane, environment: Mapping[str, str]) -> bool:
    """Whether a lane that bills a key has none. Whether somebody is signed in to a plan, only its CLI knows."""
    return lane.billing.kind == "metered" and bool(lane.secrets) and not named_secrets(lane.secrets, environment)


def _missing(place: Place, advice: Advice, used: Mapping[str, float]) -> list[str]:
    notes = []
    measured, every = advice.coverage
    if not place.models.benchmarks().scores:
        notes.append("no benchmark scores here: tiers stand for them (osrc advise --refresh fetches them)")
    elif 2 * measured < every:
        notes.append(f"only {measured} of {every} models were measured; tiers stand for the others")
    if not place.models.listing():
        notes.append("OpenRouter's catalogue was never fetched: prices are unknown (osrc models --refresh)")
    purse = advice.pick.candidate.purse if advice.pick is not None else None
    if purse is not None and purse.kind == "plan" and purse.pool not in used:
        notes.append("how much of this plan is used is not known")
    return notes


def project_root(cwd: str) -> str | None:
    """Return the root of a folder's work tree, by which its history is kept; None where it can't be found."""
    try:
        return project_of(cwd)[-1]
    except (OSError, ValueError):
        return None


def chosen(request: JobRequest, text: str, place: Place) -> tuple[Resolved | None, tuple[str, ...]]:
    """Return where advice sends a job that named neither model nor lane, and what is to be said of it.

    ``auto`` follows it, ``hybrid`` says it; it never spends cash unasked.
    """
    settings = place.settings
    named = request.model or request.lane or settings.text("model") or settings.text("provider")
    if named or request.no_advise or settings.flag("no_advise") or request.continues is not None:
        return None, ()
    mode = "auto" if settings.flag("advise") else read_mode(place.home)
    if mode not in ("auto", "hybrid"):
        return None, ()
    question = Question(
        task=text, cwd=request.cwd, effort=request.effort, verb=request.verb, cash=settings.flag("failover_cash_ok")
    )
    given = give(question, place)
    pick = given.advice.pick
    if pick is None:
        return None, (f"[advise] {given.advice.reason}: chosen as always",)
    one = pick.candidate
    what = f"{given.kind.kind.value}, {given.kind.difficulty}"
    said = f"{one.model or one.word} on {one.lane} ({what}): {given.advice.reason}"
    if mode == "hybrid":
        return None, (f"[advise] would take {said}",)
    tier = request.tier or one.tier
    return Resolved(lane=one.lane, model=one.model, tier=tier, notices=(f"[advise] {said}",)), ()
