"""The end of a job in words: from evidence and exit status to a verdict and the fact that records it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..lanes.contract import Ending, Lane
from ..lanes.evidence import Evidence
from ..lanes.markers import without_markers
from ..lanes.model_truth import line as model_line
from ..lanes.outcome import Verdict, judge
from ..lanes.resets import LONGEST_S, parse_reset
from ..messages.facts import JobEnded, JobOutcome
from ..messages.internal import CostSettled
from ..messages.job import Cost, ExitStatus, JobRecord
from ..messages.lane_events import FailureKind, MarkerKind, TurnEnded
from ..messages.model_names import canonical
from ..messages.vocabulary import JobState, Verb
from ..state.errors import StateError
from ..state.home import Home
from ..state.lane_posture import remember
from ..state.watchdog import CAUSE_STATES, Cause
from .base import log
from .limit_book import Hindrance
from .redaction import clean_answer, clean_fact

CANCELED = Verdict(state=JobState.CANCELED, exit=130, reason=Cause.CANCEL.value, outcome="abandoned")
"""The verdict on a job that was canceled before its delegate existed."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the watchdog found, as the verdict table wants it."""

    state: JobState
    reason: str


def failed(reason: str) -> Verdict:
    """Return the verdict on a job that could not be started."""
    return Verdict(state=JobState.FAILED, exit=1, reason=reason, outcome="blocked")


def remember_refusal(record: JobRecord, verdict: Verdict, lane: Lane | None, home: Home) -> None:
    """Remember a verb that the lane's organisation forbids: the next job would be told the same."""
    if lane is None or verdict.state is not JobState.PERMISSION_BLOCKED or record.verb not in lane.forbidden_by_others:
        return
    try:
        remember(home, lane.name)
    except StateError as error:
        log.warning("%s: the refusal can't be remembered: %s", record.job_id, error)


def lane_down(found: Hindrance) -> Verdict:
    """Return the verdict on a job whose lane was marked down before it could be started."""
    reason = f"its lane is {found.sentence}"
    return Verdict(state=JobState.FAILED, exit=1, reason=reason[:200], outcome=FailureKind.PLAN_LIMIT.value)


def verdict_on(  # noqa: PLR0913  the facts of one end
    evidence: Evidence,
    status: ExitStatus,
    cause: Cause | None,
    lane: Lane,
    verb: Verb,
    *,
    breach: Sequence[str] = (),
    checks: bool = False,
    verified: bool | None = None,
) -> Verdict:
    """Judge an attempt whose output was read to its end.

    ``cause`` is why we ended it, if we did; ``breach`` names what a read-only job changed; ``checks`` says that it
    has a check of its own, and ``verified`` what that says.
    """
    watchdog = CAUSE_STATES.get(cause) if cause is not None and cause is not Cause.CANCEL else None
    return judge(
        evidence,
        status,
        watchdog=Found(watchdog, cause.value) if watchdog is not None and cause is not None else None,
        cancel=cause is Cause.CANCEL,
        failure=lane.classify(Ending(exit=status, turn=evidence.turn, retries=evidence.retry_statuses)),
        verb=verb,
        breach=breach,
        checks=checks,
        verified=verified,
    )


def answer_of(evidence: Evidence | None, marker_id: str | None, notes: list[str]) -> bytes | None:
    """Return the final message as it is kept: without the marks that were only meant for us, and without secrets.

    That something was taken out is added to ``notes``.
    """
    answer = without_markers(evidence.answer, marker_id) if evidence is not None else None
    if not answer:
        return None
    kept, hidden = clean_answer(answer.encode("utf-8", "replace"))
    if hidden:
        notes.append(f"{hidden} secret value{'' if hidden == 1 else 's'} taken out of the answer")
    return kept


def ended_fact(  # noqa: PLR0913  the parts of one fact, three of them by name
    record: JobRecord,
    verdict: Verdict,
    status: ExitStatus | None,
    *,
    evidence: Evidence | None,
    cost: CostSettled | None = None,
    notes: Iterable[str] = (),
    ended_at: float | None = None,
    revises: bool = False,
) -> JobEnded:
    """Return the fact that records the end. What was not seen stays as the record has it."""
    models = model_line(record.model, evidence) if evidence else None
    said = [*([verdict.note] if verdict.note else []), *notes, *([models] if models else [])]
    ended = JobEnded(
        job_id=record.job_id,
        state=verdict.state,
        exit=verdict.exit,
        exit_status=status,
        reason=verdict.reason,
        outcome=verdict.outcome,
        progress=evidence.progress if evidence else record.progress,
        cost=cost_of(record, evidence, cost),
        model_observed=evidence.model if evidence else record.model_observed,
        conversation=evidence.conversation if evidence else record.conversation,
        note="; ".join(said) or None,
        ended_at=ended_at,
        revises=revises,
    )
    return clean_fact(ended)  # a delegate's words are in it, and the job's folder keeps it beside the journal


def checked_outcome(record: JobRecord, *, passed: bool) -> JobOutcome:
    """Return the fact that records what a check says of a job's result, for the choice of models."""
    return JobOutcome(
        job_id=record.job_id,
        outcome="passed" if passed else "failed",
        source="check",
        task_kind=record.task_kind,
        project=record.project,
        lane=record.lane,
        model=canonical(record.model),
    )


def session_note(record: JobRecord, verdict: Verdict, lane: Lane | None, evidence: Evidence | None) -> str | None:
    """Name the session that goes on where a headless run ends: with what was refused to it, or what it asks."""
    marker = evidence.last_marker if evidence is not None else None
    asked = marker is not None and marker.marker is MarkerKind.NEED_INPUT
    stuck = verdict.state is JobState.PERMISSION_BLOCKED or (verdict.state is JobState.BLOCKED and asked)
    if not stuck or lane is None or not lane.sessions:
        return None
    known = evidence.conversation if evidence is not None else record.conversation
    if known is None or not lane.resume:
        return f"in a session you can answer it: osrc session start --lane {lane.name} ..."
    return f"in a session you can answer it: osrc session start --continue {record.job_id}"


def limit_end(turn: TurnEnded | None, now: float) -> float | None:
    """Return when the limit that a turn met ends, if the CLI said so: as an instant, or in words.

    A time without a zone is read where the job ran.
    """
    if turn is None or turn.ok:
        return None
    until = turn.until
    if until is None and turn.message:
        until = parse_reset(turn.message, now, time.localtime(now).tm_gmtoff)
    return until if until is not None and now < until <= now + LONGEST_S else None


def limit_note(turn: TurnEnded | None, now: float) -> str | None:
    """Say when a limit ends, if the CLI said so."""
    if turn is None or turn.failure not in (FailureKind.PLAN_LIMIT, FailureKind.RATE_LIMIT):
        return None
    until = limit_end(turn, now)
    return None if until is None else f"the limit ends at {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(until))}"


def cost_of(record: JobRecord, evidence: Evidence | None, settled: CostSettled | None = None) -> Cost:
    """Return what the job cost: who pays was settled at intake; only a receipt is a measured sum."""
    said = settled.cash_usd if settled else evidence.cash_usd if evidence else None
    cash = {"free": 0.0, "plan": 0.0}.get(record.cost.kind, said)
    measured = record.cost.kind == "free" or (
        record.cost.kind == "metered" and settled is not None and settled.measured
    )
    usage = evidence.usage if evidence else None
    whole = evidence is not None and evidence.usage_whole
    seen = {"cash_usd": cash, "measured": measured, "tokens": usage, "tokens_of": "conversation" if whole else "run"}
    return record.cost.model_copy(update=seen)
