"""Which lane and model a job goes to: the catalog's answer, the person's own files, and what is ready here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..lanes.advice.failover import Case, Stop
from ..lanes.catalog import Resolved, resolve
from ..lanes.contract import Locality
from ..lanes.registry import Registry
from ..messages.job import JobRequest
from ..messages.lane_events import FailureKind
from ..messages.refusals import RefusalCode, Refused
from ..messages.vocabulary import Tier
from ..state.limits import key_of
from ..state.settings import Settings
from .denylist import check_denied
from .failover import Ways, policy_from
from .host import billed, probe, usable
from .limit_book import LimitBook, refusal
from .model_book import ModelBook, known_models


def choose(  # noqa: PLR0913  what a choice depends on
    request: JobRequest,
    registry: Registry,
    models: ModelBook,
    environment: Mapping[str, str],
    settings: Settings,
    *,
    limits: LimitBook | None = None,
) -> Resolved | Refused:
    """Return where a job goes. Where more than one lane would do, the first that is ready is taken.

    A lane that is down or out of its quota is not ready, unless the person said to wait; one that nobody named
    is stepped aside from.
    """
    lanes = registry.tiers(request.lane or settings.text("provider"))
    known = known_models(models, lanes, settings)
    found = resolve(
        request.model,
        request.lane,
        request.tier or _tier(settings),
        lanes=lanes,
        default_lane=settings.text("provider"),
        default_model=settings.text("model"),
        known=known,
    )
    if isinstance(found, Refused):
        return _declared_badly(request, registry) or _own_badly(found, models.own(lanes).problems)
    if isinstance(found, Resolved):
        return _or_aside(found, request, registry, models, environment, settings, limits)
    missing: list[str] = []
    denied: Refused | None = None
    unsigned: Resolved | None = None
    aside: list[str] = []
    for candidate in found.candidates:
        lane = registry.get(candidate.lane)
        if isinstance(lane, Refused) or request.verb not in lane.verbs:
            continue
        if (refused := check_denied(candidate.lane, candidate.model, settings, known)) is not None:
            denied = denied or refused
            aside.append(f"{candidate.lane} is left out: {refused.message}")
            continue
        readiness = probe(lane, environment, settings, ask_version=False)
        pool = billed(lane, environment, settings).pool
        hindered = limits.hindrance(lane.name, pool, candidate.model) if limits else None
        if usable(lane, readiness) and (hindered is None or request.wait_limit):
            able = replace(candidate, notices=(*candidate.notices, *aside))
            if readiness.signed_in is False:  # one that is seen to be signed in comes first
                unsigned = unsigned or replace(able, notices=(*able.notices, _unsigned(lane.name, readiness.fix)))
                continue
            return able if unsigned is None or readiness.signed_in else unsigned
        missing.append(f"{lane.name}: {hindered.sentence if hindered else readiness.detail}")
    if unsigned is not None:
        return unsigned
    if denied is not None and not missing:
        return denied
    return Refused(
        code=RefusalCode.LANE_NOT_READY,
        message=f"no lane is ready for {request.verb.value} ({'; '.join(missing) or 'none can do it'})",
        hint="osrc lanes says what each one needs",
    )


def _unsigned(lane: str, fix: str | None) -> str:
    """Return what is said where a lane is tried although its program's sign-in is not seen, for want of another."""
    said = f"no lane is seen to be signed in here: {lane} is tried all the same"
    return f"{said}; to sign in: {' '.join(fix.split())}" if fix else said


def _or_aside(  # noqa: PLR0913, PLR0917  what a choice depends on
    found: Resolved,
    request: JobRequest,
    registry: Registry,
    models: ModelBook,
    environment: Mapping[str, str],
    settings: Settings,
    limits: LimitBook | None,
) -> Resolved | Refused:
    """Return another way where a limit is in the way of a lane that only the settings named."""
    lane = registry.get(found.lane)
    named = request.model is not None or request.lane is not None or request.wait_limit
    if limits is None or named or isinstance(lane, Refused):
        return found
    pool = billed(lane, environment, settings).pool
    hindered = limits.hindrance(lane.name, pool, found.model)
    if hindered is None:
        return found
    case = Case(
        verb=request.verb,
        lane=lane.name,
        model=found.model,
        tier=found.tier,
        key=key_of(lane.name, pool),
        failure=FailureKind.PLAN_LIMIT,
        local=lane.locality is Locality.LOCAL,
        policy=policy_from(settings),
    )
    ways = Ways(case, registry=registry, models=models, limits=limits, environment=environment, settings=settings)
    hop = ways.next()
    if isinstance(hop, Stop):
        return _aside_refused(refusal(hindered, lane.name, found.model, pinned=False), hop)
    notice = f"{lane.name} is {hindered.sentence}: {hop.model or 'its own model'} of {hop.lane} instead"
    return Resolved(lane=hop.lane, model=hop.model, tier=hop.tier, notices=(*found.notices, notice))


def _aside_refused(refused: Refused, stop: Stop) -> Refused:
    return refused.model_copy(update={"message": f"{refused.message}; {stop.why}"}) if stop.why else refused


def _own_badly(refused: Refused, problems: Sequence[str]) -> Refused:
    """Say beside an unknown model that some of the person's own rows could not be used."""
    if refused.code is not RefusalCode.UNKNOWN_MODEL or not problems:
        return refused
    return refused.model_copy(update={"message": f"{refused.message} Rows of your own can't be used: {problems[0]}"})


def _tier(settings: Settings) -> Tier | None:
    word = settings.text("tier")
    return Tier(word) if word else None


def _declared_badly(request: JobRequest, registry: Registry) -> Refused | None:
    """Return what is wrong with the file of the lane that was asked for, if that is why there is no such lane."""
    name = request.lane or (request.model or "").partition(":")[0]
    return next((problem for problem in registry.problems if name and f"/{name}.toml:" in problem.message), None)
