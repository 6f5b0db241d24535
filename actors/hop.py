"""Finding a failed job's next attempt and making it ready: choice, the ordinary plan and gate, files on the disk.

Blocks: for a thread of its own. Nothing that is done here counts before the job's actor has journalled it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..lanes.advice.failover import Case, Hop, Stop, next_hop
from ..lanes.advice.handoff import handed_over
from ..lanes.catalog import Resolved
from ..lanes.outcome import FAILURE_WORDS
from ..messages.job import JobRecord, JobRequest
from ..messages.lane_events import FailureKind
from ..messages.model_names import canonical
from ..messages.refusals import Refused
from ..messages.vocabulary import JobState
from ..state.attempts import discard_stage, stage
from ..state.errors import StateError
from ..state.job_folder import JobFolder
from ..state.limits import instant, key_of
from ..state.settings import Settings
from .accounts import Account
from .base import log
from .caller import settings_of
from .failover import Ways, policy_from
from .host import decode_environment
from .intake import Draft, draft, effective
from .job_tree import ensure_tree
from .job_writing import record_of, stage_hop
from .kept_request import kept_request
from .services import Services

PASSING = ("transport", "rate-limit")
"""Outcomes after which a job that changes nothing is tried elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HopFound:
    """What was found out. At most one of the three is so."""

    ready: Ready | None = None
    """The next attempt is ready to be decided."""
    wait_until: float | None = None
    """Epoch seconds: the job waits for its limit to end."""
    why: str | None = None
    """A sentence: why it waits, or why there is no next attempt; None where nobody would expect one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """An attempt whose files are staged."""

    record: JobRecord
    """The job on its new terms."""
    plan: Mapping[str, Any]
    account: Account | None
    token: str
    """Under which a run of its quotas is held."""
    why: str


NOTHING = HopFound(why="whether another lane could take it could not be found out")


def find_hop(services: Services, record: JobRecord, outcome: str, limit_until: float | None) -> HopFound:
    """Return what follows the failed attempt of ``record``.

    ``limit_until`` is until when its lane is marked, where it met a limit. The caller has not decided anything yet.
    """
    folder = JobFolder(services.home.job_dir(record.job_id))
    request = kept_request(folder, services.requests.get(record.job_id))
    kind = FailureKind(outcome)
    if request is None:
        return HopFound(why="not tried elsewhere: the task is not kept with this job")
    if request.wait_limit and limit_until is not None:
        return HopFound(wait_until=limit_until, why=f"waits for the limit of {record.lane}: {instant(limit_until)}")
    try:
        environment = decode_environment(request.environment)
        settings = settings_of(environment)
    except (ValueError, StateError) as error:
        return HopFound(why=f"not tried elsewhere: {error}")
    case = case_of(record, request, kind, settings)
    if kind is FailureKind.CONTENDED:
        return _once_more(next_hop(case, ()), services, record, request, folder, outcome)
    ways = Ways(
        case,
        registry=services.registry(),
        models=services.models,
        limits=services.limits,
        environment=effective(environment, settings, secrets=False),
        settings=settings,
    )
    return _first(ways, services, record, request, folder, settings)


def find_again(services: Services, record: JobRecord) -> HopFound:
    """Return the next attempt of a job that waited, on the lane it waited for."""
    folder = JobFolder(services.home.job_dir(record.job_id))
    request = kept_request(folder, services.requests.get(record.job_id))
    if request is None:
        return HopFound(why="the task is not kept with this job (it may have held a secret value): osrc run asks anew")
    hop = Hop(lane=record.lane, model=record.model, tier=record.tier, why=f"the limit of {record.lane} has ended")
    outcome = record.hops[-1].outcome if record.hops else None
    return _once_more(hop, services, record, request, folder, outcome)


def _once_more(  # noqa: PLR0913, PLR0917  what an attempt depends on
    hop: Hop | Stop,
    services: Services,
    record: JobRecord,
    request: JobRequest,
    folder: JobFolder,
    outcome: str | None,
) -> HopFound:
    """Make another attempt on the job's own lane ready."""
    if isinstance(hop, Stop):
        return HopFound(why=hop.why)
    found = _prepared(hop, services, record, request, folder, outcome=outcome)
    return HopFound(why=found.message) if isinstance(found, Refused) else HopFound(ready=found)


def case_of(record: JobRecord, request: JobRequest, kind: FailureKind, settings: Settings) -> Case:
    """Return the failed attempt as the decision wants it."""
    tried = [*((over.lane, over.model) for over in record.hops), (record.lane, record.model)]
    moved = [over.outcome for over, nxt in zip(record.hops, tried[1:], strict=True) if over.lane != nxt[0]]
    chain = settings.words("offload_chain") if record.lane in ("cc", "codexor") and request.model is None else ()
    return Case(
        verb=record.verb,
        lane=record.lane,
        model=record.model,
        tier=record.tier,
        key=key_of(record.lane, record.pool),
        failure=kind,
        pinned=request.model is not None,
        local=record.local,
        bound="it continues a conversation of that lane" if request.continues else None,
        tried=frozenset((lane, canonical(model)) for lane, model in tried),
        transport_moves=sum(outcome in PASSING for outcome in moved),
        limit_moves=sum(outcome not in PASSING for outcome in moved),
        starts=1 + sum(over.outcome == FailureKind.CONTENDED.value for over in record.hops),
        chain=tuple(chain),
        policy=policy_from(settings),
    )


def _first(  # noqa: PLR0913, PLR0917  what one way depends on
    ways: Ways,
    services: Services,
    record: JobRecord,
    request: JobRequest,
    folder: JobFolder,
    settings: Settings,
) -> HopFound:
    """Make the best way ready; one that the plan or the gate refuses is no way."""
    while True:
        hop = ways.next()
        if isinstance(hop, Stop):
            ends = f"; the soonest is up {instant(hop.until)}" if hop.until is not None else ""
            return HopFound(why=f"{hop.why}{ends}" if hop.why else None)
        cash_ok, outcome = settings.flag("failover_cash_ok"), ways.case.failure.value
        found = _prepared(hop, services, record, request, folder, outcome=outcome, cash_ok=cash_ok)
        if isinstance(found, Ready):
            return HopFound(ready=found)
        log.info("%s: not on to %s: %s", record.job_id, hop.lane, found.message)
        ways.close(hop.lane, found.message)


def _wording(request: JobRequest) -> dict[str, bool]:
    """Return how our own words to a delegate are to be chosen."""
    try:
        settings = settings_of(decode_environment(request.environment))
    except (ValueError, StateError):
        return {}
    return {"guard": settings.flag("vocab_guard"), "aggressive": settings.flag("vocab_guard_aggressive")}


def _prepared(  # noqa: PLR0913  what an attempt depends on
    hop: Hop,
    services: Services,
    record: JobRecord,
    request: JobRequest,
    folder: JobFolder,
    *,
    outcome: str | None,
    cash_ok: bool = True,
) -> Ready | Refused:
    """Plan an attempt as any job is planned, hold its place in the quotas, and stage its files."""
    terms: dict[str, object] = {"lane": hop.lane, "model": hop.model, "cwd": record.cwd, "wait_limit": False}
    if hop.lane != record.lane:
        terms["trust_lane"] = False  # it was given to that lane, not to this one
    before = cut_short(record, outcome) if record.verb.may_write else None
    if before is not None:
        terms["task"] = handed_over(request.task or "", before[0], _in_words(before[1]), **_wording(request))
    if record.worktree is not None:  # it goes on in the tree that it has, be it yet to be made
        terms["worktree"] = False
        if (why := ensure_tree(record, folder)) is not None:
            return _no(why)
    asked = request.model_copy(update=terms)
    decided = draft(asked, services.home, services.registry(), models=services.models, limits=services.limits)
    if isinstance(decided, Refused):
        return decided
    refused = _other_than_meant(decided, hop, record, cash_ok=cash_ok)
    if refused is not None:
        return refused
    if (full := _full(decided, record.job_id, services)) is not None:
        return full
    attempt = record.attempt + 1
    try:
        stage_hop(decided, folder, stage(folder, attempt), services.umask)
    except StateError as error:
        discard_stage(folder)
        services.limits.give_back(record.job_id)
        return error.refusal
    terms_of = record_of(decided, record.job_id, record.accepted_at, record.owner)
    moved = terms_of.model_copy(update={"attempt": attempt, "state": JobState.LAUNCHING})
    plan = decided.plan.model_dump(mode="json")
    return Ready(record=moved, plan=plan, account=decided.account, token=record.job_id, why=hop.why)


def _full(decided: Draft, job_id: str, services: Services) -> Refused | None:
    """Refuse what the budget or a quota has no room for; hold its place in both."""
    model = decided.resolved.model
    money = services.budgets.admit(job_id, decided.billing.kind, model, decided.prompt, decided.settings)
    if money is not None:
        return money
    full = services.limits.take(job_id, decided.lane.name, model)
    return None if full is None else _no(full.sentence)


def _other_than_meant(decided: Draft, hop: Hop, record: JobRecord, *, cash_ok: bool) -> Refused | None:
    """Refuse a plan that came out elsewhere than it was meant to, or that costs what nobody agreed to."""
    resolved: Resolved = decided.resolved
    if resolved.lane != hop.lane:
        return _no(f"its models lead to {resolved.lane}")
    billing = decided.billing
    same_purse = key_of(hop.lane, billing.pool) == key_of(record.lane, record.pool)
    if billing.kind in ("metered", "unknown") and not cash_ok and not same_purse:
        return _no(f"it may cost cash here ({billing.words})")
    return None


def _no(sentence: str) -> Refused:
    from ..messages.refusals import RefusalCode  # noqa: PLC0415  beside its only use

    return Refused(code=RefusalCode.LANE_NOT_READY, message=sentence)


def cut_short(record: JobRecord, outcome: str | None) -> tuple[str, str | None] | None:
    """Return the lane and the outcome of the newest attempt that may have done something, or None.

    ``outcome`` is that of the newest of all, which is not among the record's ``hops`` yet.
    """
    began = record.started is not None or record.delegate is not None
    if began and outcome != FailureKind.CONTENDED.value:
        return record.lane, outcome
    for over in reversed(record.hops):
        if over.exit_status is not None and over.outcome != FailureKind.CONTENDED.value:
            return over.lane, over.outcome
    return None


def _in_words(outcome: str | None) -> str:
    try:
        return FAILURE_WORDS[FailureKind(outcome)] if outcome else "it ended early"
    except ValueError:
        return outcome or ""
