"""What attempts spent, pure: the rows that a job's record makes, and how money and counts are kept.

Rules
- One row per attempt that began, and per turn of a session, whatever became of it; a removal takes none away.
- Cash is *measured* (a provider's receipt), *estimated* (tokens at list price) or *unknown*. A plan's run and a
  local one cost no cash, and are never called free together: each plan's runs are counted under its pool.
- Tokens are known only where both input and output are. ``input`` is what was not cached. ``reasoning`` is what the
  vendor told of it; most count it within ``output``, so it is never added.
- Some CLIs count a conversation, not a turn. What an earlier job of it had spent is then taken off; where that is
  not known, the tokens are not known, and an estimate that was made of them is none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..messages.job import Attempted, Cost, ExitStatus, JobRecord, TokenUsage
from ..messages.session import SessionRecord, SessionSpent
from ..messages.vocabulary import JobState
from .limits import LANE_OWN

Spent = Literal["measured", "estimated", "unknown", "plan", "local", "nothing"]

NANO = 1_000_000_000
CASH_CAP_USD = 10_000.0
"""No attempt costs more: such a figure is not believed."""
TOKENS_CAP = 10**12
COUNTS = ("input", "cached_input", "cache_write", "output", "reasoning")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One attempt, or one turn of a session. Cash is in 1e-9 USD, so that sums are exact."""

    job_id: str
    attempt: int
    at: float
    """Epoch seconds when it was over."""
    lane: str
    model: str | None
    group_id: str | None
    ok: bool
    spent: Spent
    pool: str
    cash_nano: int = 0
    counts: Mapping[str, int] | None = None
    """Tokens by the names of ``COUNTS``; None is unknown."""
    total: Mapping[str, int] | None = None
    """The CLI's own count, where that is of the whole conversation."""

    @property
    def total_json(self) -> str | None:
        """Its text in the store."""
        return None if self.total is None else json.dumps(dict(self.total))


def rows_of(record: JobRecord, at: float, before: Mapping[str, int] | None = None) -> list[Row]:
    """Return the rows of every attempt of ``record`` that is over. ``at`` is the time of those that name none.

    ``before`` is what the conversation that it goes on with had counted by then; None is unknown.
    """
    rows = [_row(record, over, at, before) for over in record.hops]
    last = _last(record)
    if last is not None:
        rows.append(_row(record, last, at, before, ok=record.state in (JobState.DONE, JobState.DONE_UNVERIFIED)))
    return rows


def row_of_turn(record: SessionRecord, turn: SessionSpent, at: float) -> Row:
    """Return the row of one turn of a session: its id and the turn's number stand for job and attempt."""
    cost = Cost(kind=record.paid, plan=record.pool, cash_usd=turn.cash_usd, tokens=turn.tokens)
    spent, cash = _spent(cost, None)
    return Row(
        job_id=record.session_id,
        attempt=turn.turn,
        at=at,
        lane=record.lane,
        model=turn.model,
        group_id=None,
        ok=turn.ok,
        spent=spent,
        pool=record.pool or "",
        cash_nano=cash,
        counts=_whole(turn.tokens),
    )


def total_in(text: object) -> Mapping[str, int] | None:
    """Return what ``total_json`` wrote; None for anything else."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not all(_counted(value.get(name)) for name in COUNTS):
        return None
    return {name: value[name] for name in COUNTS}


def _last(record: JobRecord) -> Attempted | None:
    """Return the attempt that ended the job as if it had been moved on from; None where it never began."""
    if not record.state.terminal or record.started is None:
        return None
    if any(over.attempt == record.attempt for over in record.hops):
        return None
    if record.hops and not (record.delegate or record.exit_status or record.cost.tokens):
        return None
    return Attempted(
        attempt=max(record.attempt, 1),
        lane=record.lane,
        vehicle=record.vehicle,
        model=record.model,
        model_observed=record.model_observed,
        exit_status=record.exit_status,
        cost=record.cost,
        ended=record.ended,
        pool=record.pool,
        why="",
    )


def _row(record: JobRecord, over: Attempted, at: float, before: Mapping[str, int] | None, *, ok: bool = False) -> Row:
    total = _whole(over.cost.tokens)
    counts, conversation = total, over.cost.tokens_of == "conversation"
    went_on = conversation and record.continues is not None
    if went_on and total is not None:
        counts = _less(total, before)
    spent, cash = _spent(over.cost, over.exit_status)
    if went_on and spent == "estimated":
        spent, cash = "unknown", 0
    pool = over.pool or over.cost.plan or ""
    if spent == "local" and not record.local and pool not in LANE_OWN:
        spent = "plan"  # somebody else's machine, free of charge: what its pool allows was spent
    return Row(
        job_id=record.job_id,
        attempt=over.attempt,
        at=at if over.ended is None else over.ended,
        lane=over.lane,
        model=over.model_observed or over.model,
        group_id=record.group_id,
        ok=ok,
        spent=spent,
        pool=pool,
        cash_nano=cash,
        counts=counts,
        total=total if conversation else None,
    )


def _spent(cost: Cost, status: ExitStatus | None) -> tuple[Spent, int]:
    """Return what was spent, and the cash in 1e-9 USD."""
    if status is not None and status.error is not None:
        return "nothing", 0  # it could not even be started
    if cost.kind == "free":
        return "local", 0
    if cost.kind == "plan":
        return "plan", 0
    cash = cost.cash_usd
    if cost.kind == "unknown" or cash is None or not math.isfinite(cash) or not 0 <= cash <= CASH_CAP_USD:
        return "unknown", 0
    return ("measured" if cost.measured else "estimated"), round(cash * NANO)


def _whole(usage: TokenUsage | None) -> Mapping[str, int] | None:
    """Return the counts, where those that matter are known and can be true."""
    if usage is None or usage.input is None or usage.output is None:
        return None
    counts = {name: getattr(usage, name) or 0 for name in COUNTS}
    return counts if all(map(_counted, counts.values())) else None


def _less(total: Mapping[str, int], before: Mapping[str, int] | None) -> Mapping[str, int] | None:
    if before is None:
        return None
    left = {name: total[name] - before[name] for name in COUNTS}
    return left if min(left.values()) >= 0 else None


def _counted(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= TOKENS_CAP
