"""What a run whose stream tells its use only at the end has used so far, read off what its program writes down.

Only looked at where cash is spent and a budget is set; in a thread, whenever the delegate was heard: one look at a
time, and one more where it was heard meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from ..lanes.contract import Lane
from ..lanes.evidence import Evidence
from ..messages.job import JobRecord, TokenUsage
from ..state.budgets import CASH_KINDS, budget_of
from .base import Handle
from .recalling import environment_of
from .reported_gauges import rollout_of, tail_of
from .tree import in_background


@dataclass(frozen=True, slots=True)
class MeterRead:
    """Meter → Job: what was used so far; None is unknown."""

    usage: TokenUsage | None


class JobMeter:
    """See the module. Belongs to one attempt."""

    def __init__(self, to: Handle) -> None:
        """``to`` is told a ``MeterRead``."""
        self._to = to
        self._path: str | None = None
        """Where it is written, once that was found."""
        self._looking = False
        self._again = False

    def look(self, record: JobRecord, lane: Lane | None, evidence: Evidence) -> None:
        """Have a look begun where it can tell anything that matters."""
        budget = budget_of(record.windows.get("budget_day"), record.windows.get("budget_job"))
        if lane is None or not budget.bounds or not tells(record, lane, evidence):
            return
        if self._looking:
            self._again = True
            return
        self._looking, self._again = True, False
        pid = record.delegate.pid if record.delegate is not None else None

        def work() -> MeterRead:
            if self._path is None:
                environment = environment_of(pid) if pid is not None else {}
                self._path = rollout_of(environment or os.environ, evidence.conversation or "")
            return MeterRead(_read(lane, self._path))

        in_background(f"meter:{record.job_id}", self._to, work, otherwise=MeterRead(None))

    def told(self) -> bool:
        """Take note that a look is over; return whether another is due."""
        self._looking = False
        return self._again


def tells(record: JobRecord, lane: Lane, evidence: Evidence) -> bool:
    """Whether what its program writes down can tell of cash what its stream does not."""
    if lane.meter is None or evidence.conversation is None or evidence.usage is not None:
        return False
    # A thread that goes on counts what came before, too.
    return record.cost.kind in CASH_KINDS and record.continues is None


def used(lane: Lane, evidence: Evidence, environment: Mapping[str, str]) -> TokenUsage | None:
    """Return what was used by now; None is unknown. ``environment``: the delegate's. Blocks."""
    return _read(lane, rollout_of(environment, evidence.conversation or ""))


def _read(lane: Lane, path: str | None) -> TokenUsage | None:
    return None if path is None or lane.meter is None else lane.meter(tail_of(path))
