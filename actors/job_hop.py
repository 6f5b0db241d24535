"""A job between a failed attempt and its next one: the limit is settled, a way is found, nothing is decided yet."""

from __future__ import annotations

from dataclasses import dataclass

from ..lanes.contract import Lane
from ..lanes.evidence import Evidence
from ..lanes.outcome import Verdict
from ..messages.internal import LimitSettled
from ..messages.job import Attempted, Cost, ExitStatus, JobRecord
from ..messages.lane_events import FailureKind
from ..messages.model_names import canonical
from ..messages.vocabulary import JobState
from ..state.limits import key_of
from .base import Handle
from .hop import NOTHING, HopFound, find_again, find_hop
from .job_end import limit_end
from .limit_book import Hindrance, down
from .limits import LimitMet
from .services import Services
from .tree import in_background

SETTLE_S = 30.0
"""How long a job waits for its limit to be verified before it goes on without."""

MOVES = frozenset(
    kind.value
    for kind in (FailureKind.TRANSPORT, FailureKind.RATE_LIMIT, FailureKind.PLAN_LIMIT, FailureKind.CONTENDED)
)
"""Outcomes after which there may be another attempt: on another lane, or, as nothing was begun, on the same."""


@dataclass(frozen=True, slots=True)
class SettleDue:
    """Clock → Job: the verification of its limit takes too long."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Job → Jobs: the job is another attempt from now on, which is journalled; start it."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Waits:
    """Job → Jobs: the job waits for a limit to end, which is journalled; wake it then."""

    job_id: str
    until: float
    """Epoch seconds."""


class Hopping:
    """Asks the questions, one after the other, and says what the answer is."""

    def __init__(self, services: Services, to: Handle) -> None:
        self._services = services
        self._to = to
        self.begun = False
        self.over = False
        """Whether the answer is in."""
        self._timer: int | None = None
        self._outcome = ""

    def begin(self, record: JobRecord, verdict: Verdict, evidence: Evidence | None, lane: Lane | None) -> bool:
        """Start to look for a next attempt; False where none is to be looked for."""
        if evidence is None or lane is None:
            return False
        if self.begun or verdict.state is not JobState.FAILED or verdict.outcome not in MOVES:
            return self.begun and not self.over
        self.begun, self._outcome = True, verdict.outcome
        if verdict.outcome == FailureKind.PLAN_LIMIT.value and self._meet(record, verdict, evidence, lane):
            self._timer = self._services.clock.later(SETTLE_S, self._to, SettleDue())
        else:
            self._find(record, None)
        return True

    def leave(self, record: JobRecord, until: float) -> None:
        """Look for a way on for a job whose lane is down before it began."""
        self.begun, self._outcome = True, FailureKind.PLAN_LIMIT.value
        self._find(record, until)

    def again(self, record: JobRecord) -> None:
        """Make the next attempt of a job ready that has waited."""
        self.begun = True
        services = self._services
        in_background(f"again:{record.job_id}", self._to, lambda: find_again(services, record), otherwise=NOTHING)

    def told(self, message: LimitSettled | SettleDue, record: JobRecord) -> None:
        """Go on once the limit is settled, or without that."""
        if self._timer is None:
            return
        self._services.clock.forget(self._timer)
        self._timer = None
        answered = isinstance(message, LimitSettled) and message.verdict == "answered"
        if answered:
            self._to.tell(HopFound(why="not moved: its plan's gauge says that there is some left"))
        else:
            self._find(record, message.until if isinstance(message, LimitSettled) else None)

    def drop(self) -> None:
        """Forget the timer."""
        if self._timer is not None:
            self._services.clock.forget(self._timer)
            self._timer = None

    def _meet(self, record: JobRecord, verdict: Verdict, evidence: Evidence, lane: Lane) -> bool:
        services, turn = self._services, evidence.turn
        windows = evidence.limit.windows if evidence.limit is not None else ()
        used = [window.utilization for window in windows if window.utilization is not None]
        rejected = evidence.limit is not None and evidence.limit.rejected
        return services.directory.tell(
            "limits",
            LimitMet(
                to=self._to,
                key=key_of(lane.name, record.pool),
                lane=lane.name,
                model=canonical(record.model),
                reason=(verdict.reason or "the plan's limit is used up").rstrip("."),
                until=limit_end(turn, services.clock.now().wall),
                own_word=rejected or (turn is not None and not turn.synthetic),
                gauge=max(used, default=None),
                short_s=services.settings.number("lane_down_ttl") or 300.0,
                estimate_s=services.settings.number("lane_plan_down_ttl") or 3600.0,
            ),
        )

    def _find(self, record: JobRecord, until: float | None) -> None:
        services, outcome = self._services, self._outcome
        in_background(
            f"hop:{record.job_id}",
            self._to,
            lambda: find_hop(services, record, outcome, until),
            otherwise=NOTHING,
        )


def over(  # noqa: PLR0913  what an attempt leaves, by name
    record: JobRecord,
    *,
    verdict: Verdict,
    cost: Cost,
    why: str,
    status: ExitStatus | None = None,
    ended: float | None = None,
) -> Attempted:
    """Return what is kept of the attempt that is over."""
    return Attempted(
        attempt=record.attempt,
        lane=record.lane,
        vehicle=record.vehicle,
        model=record.model,
        model_observed=record.model_observed,
        conversation=record.conversation,
        outcome=verdict.outcome,
        reason=verdict.reason,
        exit_status=status,
        cost=cost,
        pool=record.pool,
        ended=ended,
        why=why,
    )


def mark_on(services: Services, record: JobRecord) -> Hindrance | None:
    """Return the mark on a job's lane, if there is one; its quota counts it already."""
    found = services.limits.mark(key_of(record.lane, record.pool))
    return None if found is None else down(found)


def still_held(services: Services, record: JobRecord) -> float | None:
    """Return until when a job that was to wake must wait on, or None when nothing is in its way."""
    found = services.limits.hindrance(record.lane, record.pool, record.model)
    return None if found is None else found.until
