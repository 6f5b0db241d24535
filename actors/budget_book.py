"""Money budgets as they stand right now: what is in the ledger, and what runs have spent by estimate.

A run is held from before it is taken until it is over, so that many at once can't all find the same money. May be
used from any thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, tzinfo

from ..lanes.catalog.listing import estimate
from ..lanes.catalog.quoting import prompt_tokens, quote
from ..lanes.evidence import Evidence
from ..messages.job import JobRecord
from ..messages.refusals import RefusalCode, Refused
from ..state.budgets import CASH_KINDS, Budget, Spent, budget_of, enough, no_room, spent_since, usd
from ..state.errors import DamagedStore
from ..state.home import Home
from ..state.ledger import NANO
from ..state.limits import day_of
from ..state.settings import Settings
from ..state.store import Reader
from .base import log
from .model_book import ModelBook

HINT = "osrc limits shows it; more: osrc limits budget AMOUNT/day|AMOUNT/job|off"

Weigh = Callable[[str, str | None, str, Settings], str | None]
"""How it is paid, its model, its prompt and its settings → why it would not be admitted."""


class BudgetBook:
    """See the module."""

    def __init__(
        self, home: Home, models: ModelBook, wall: Callable[[], float] = time.time, zone: tzinfo = UTC
    ) -> None:
        self._database = home.database
        self._models = models
        self._wall = wall
        self._zone = zone
        self._lock = threading.Lock()
        self._held: dict[str, int] = {}
        """Run → what is kept for it: what it has spent by estimate, or may."""
        self._used: dict[str, int] = {}
        """Run → what it has spent by estimate, as it told."""

    def admit(self, held: str, paid: str, model: str | None, prompt: str, settings: Settings) -> Refused | None:
        """Hold under the name ``held`` what a run is estimated to cost at least, or refuse it. ``paid``: how it is."""
        if paid not in CASH_KINDS:
            return None
        budget, nano, kept = self._wanted(model, prompt, settings)
        with self._lock:
            why = self._why_not(budget, held, nano, kept) if budget.bounds else None
            if why is None:
                self._held[held] = kept
                self._used.pop(held, None)
                return None
        return Refused(code=RefusalCode.BUDGET_SPENT, message=f"the budget has no room: {why}", hint=HINT)

    def weighing(self) -> Weigh:
        """Return what says why a run would not be admitted, None where it would. It holds nothing.

        What it has let pass counts when it is asked again: a wave is weighed as it would be admitted.
        """
        let = 0

        def weigh(paid: str, model: str | None, prompt: str, settings: Settings) -> str | None:
            nonlocal let
            if paid not in CASH_KINDS:
                return None
            budget, nano, kept = self._wanted(model, prompt, settings)
            with self._lock:
                why = self._why_not(budget, "", nano, kept, let) if budget.bounds else None
            let += 0 if why else kept
            return why

        return weigh

    def _wanted(self, model: str | None, prompt: str, settings: Settings) -> tuple[Budget, int | None, int]:
        """Return the budget, what a run is estimated to cost, and how much is kept for it."""
        price = quote(self._models.listing().get(model or ""), prompt_tokens(prompt))
        nano = None if price is None else round(price * NANO)
        budget = budget_in(settings)
        # Where a job may spend so much, so much is kept for it: no wave of first steps can pass the day's budget then.
        return budget, nano, max(nano or 0, budget.job or 0) if budget.day is not None else nano or 0

    def rename(self, held: str, name: str) -> None:
        """Hold it under the name of what it became."""
        with self._lock:
            if (nano := self._held.pop(held, None)) is not None:
                self._held[name] = nano

    def spend(self, record: JobRecord, evidence: Evidence, *, live: bool = True) -> str | None:
        """Take into account what a run has used by now; return why it is to end, where it is.

        What is read again (not ``live``), or is the first that is heard of a run that an earlier supervisor admitted,
        is no step: it ends a run that is past its bound already, and no other.
        """
        if record.cost.kind not in CASH_KINDS:
            return None
        price = reckon(self._models, record, evidence)
        if price is None:
            return None
        budget = budget_of(record.windows.get("budget_day"), record.windows.get("budget_job"))
        held, so_far = record.job_id, round(price * NANO)
        with self._lock:
            before = self._used.get(held)
            if before is None and held in self._held:
                before = 0
            self._used[held] = max(before or 0, so_far)
            self._held[held] = max(self._held.get(held, 0), so_far)
            if not budget.bounds or (before is not None and so_far <= before):
                return None
            step = so_far - before if live and before is not None else 0
            return enough(budget, self._spent(budget), self._others(held), so_far, step)

    def drop(self, held: str) -> None:
        """Hold it no longer: it is over, and in the ledger, or it is not to be. Repeating it is harmless."""
        with self._lock:
            self._held.pop(held, None)
            self._used.pop(held, None)

    def _why_not(self, budget: Budget, held: str, price: int | None, kept: int, beside: int = 0) -> str | None:
        spent, others = self._spent(budget), self._others(held) + beside
        why = no_room(budget, spent, others, price)
        if why is not None or budget.day is None or spent.nano + others + kept <= budget.day:
            return why
        gone = usd(spent.nano + others, sure=False)
        return f"{gone} of {usd(budget.day)} for today is spent or kept for what runs, and a job may spend {usd(kept)}"

    def _others(self, held: str) -> int:
        return sum(nano for name, nano in self._held.items() if name != held)

    def _spent(self, budget: Budget) -> Spent:
        if budget.day is None:
            return Spent()
        try:
            with Reader(self._database) as reader:
                return spent_since(reader, day_of(self._wall(), self._zone)[0])
        except DamagedStore as damage:
            log.warning("what was spent today can't be read: %s", damage.message)
            return Spent()


def budget_in(settings: Settings) -> Budget:
    """Return the budget that settings set; what nobody set bounds nothing."""
    return budget_of(settings.number("budget_day"), settings.number("budget_job"))


def reckon(models: ModelBook, record: JobRecord, evidence: Evidence) -> float | None:
    """Return what a run has cost by list price, in USD, else by its CLI's own word; None is unknown.

    While its turn goes on, or where it was ended in it, by what was metered of it.
    """
    lane, named = record.lane, evidence.model or record.model
    if evidence.usage is not None:
        price = estimate(models.priced(named, lane), evidence.usage)
        return evidence.cash_usd if price is None else price
    total = None
    for model, used in evidence.metered:
        price = estimate(models.priced(model or named, lane), used)
        if price is None:
            return None
        total = (total or 0.0) + price
    return total
