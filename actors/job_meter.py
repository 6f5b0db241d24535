"""What a run whose stream tells its use only at the end has used so far, read off what its program writes down.

Only looked at where cash is spent and a budget is set; in a thread, whenever the delegate was heard: one look at a
time, and one more where it was heard meanwhile.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..lanes.contract import Lane
from ..lanes.evidence import Evidence
from ..messages.job import JobRecord, TokenUsage
from ..state.budgets import CASH_KINDS, budget_of
from .base import Handle
from .recalling import environment_of
from .told_gauges import rollout_of, tail_of
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
        self._looking = False
        self._again = False

    def look(self, record: JobRecord, lane: Lane | None, evidence: Evidence) -> None:
        """Have a look begun where it can tell anything that matters."""
        read, thread = lane.meter if lane is not None else None, evidence.conversation
        budget = budget_of(record.windows.get("budget_day"), record.windows.get("budget_job"))
        if read is None or thread is None or evidence.usage is not None or record.cost.kind not in CASH_KINDS:
            return
        if not budget.bounds or record.continues is not None:  # a thread that goes on counts what came before, too
            return
        if self._looking:
            self._again = True
            return
        self._looking, self._again = True, False
        pid = record.delegate.pid if record.delegate is not None else None

        def work() -> MeterRead:
            environment = environment_of(pid) if pid is not None else {}
            self._path = self._path or rollout_of(environment or os.environ, thread)
            return MeterRead(None if self._path is None else read(tail_of(self._path)))

        in_background(f"meter:{record.job_id}", self._to, work, otherwise=MeterRead(None))

    def told(self) -> bool:
        """Take note that a look is over; return whether another is due."""
        self._looking = False
        return self._again
