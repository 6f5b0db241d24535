"""Money budgets, pure: how much cash a day and a job may spend, and when that is enough. Amounts are in 1e-9 USD.

A budget is kept before, not after: nothing begins whose price is known to go past it, and what runs is ended
when one more step like its last would. Cash that nobody knows can't be held to a budget; it is counted, and said.
"""

from __future__ import annotations

from dataclasses import dataclass

from .ledger_reader import NANO
from .reader import Reader

FIRST_SCHEMA = 4
"""The first that has a ledger."""
_CENT = NANO // 100
CASH_KINDS = frozenset({"metered", "unknown"})
"""Ways to be paid that cost cash, or may."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent at most; None is no bound."""

    day: int | None = None
    job: int | None = None

    @property
    def bounds(self) -> bool:
        """Whether there is any bound at all."""
        return self.day is not None or self.job is not None


@dataclass(frozen=True, slots=True)
class Spent:
    """Cash of a day's attempts that are over."""

    nano: int = 0
    unknown_runs: int = 0
    """Runs that may have cost cash that nobody knows: the sum is a floor then."""


def budget_of(day_usd: float | None, job_usd: float | None) -> Budget:
    """Return the budget of two settings. 0 is a bound too: no cash at all."""
    return Budget(day=_nano(day_usd), job=_nano(job_usd))


def spent_since(reader: Reader, at: float) -> Spent:
    """Return the cash of the attempts that were over at ``at`` (epoch seconds) or later."""
    if reader.schema < FIRST_SCHEMA:
        return Spent()
    rows = reader.select("SELECT sum(cash_nano), sum(spent = 'unknown') FROM ledger WHERE at >= ?", (at,))
    nano, unknown = rows[0] if rows else (0, 0)
    return Spent(int(nano or 0), int(unknown or 0))


def no_room(budget: Budget, spent: Spent, held: int, price: int | None) -> str | None:
    """Return why a run of an estimated ``price`` must not begin; None where it may.

    ``held`` is what the runs that are not over have spent by estimate. An unknown price is taken for nothing, so
    that only a budget that is used up already refuses it.
    """
    wanted = price or 0
    if budget.job is not None and wanted > budget.job:
        return f"one plain answer is estimated at {usd(wanted, sure=False)}, and a job may spend {usd(budget.job)}"
    if budget.job == 0:
        return "a job may spend no cash"
    if budget.day is None:
        return None
    gone = spent.nano + held
    if gone + wanted > budget.day or gone >= budget.day:
        more = f", and this is estimated at {usd(wanted, sure=False)}" if price else ""
        return f"{_gone(spent, held)} of {usd(budget.day)} for today spent{more}"
    return None


_NEXT = ", and one more step would pass it"


def enough(budget: Budget, spent: Spent, others: int, so_far: int, step: int) -> str | None:
    """Return why a run that has spent ``so_far``, the last time in a ``step``, is to end; None where it may go on."""
    if not step and not so_far:
        return None
    if budget.job is not None and so_far + step > budget.job:
        more = "" if so_far > budget.job else _NEXT
        return f"{usd(so_far, sure=False)} of {usd(budget.job)} for a job spent{more}"
    if budget.day is not None and spent.nano + others + so_far + step > budget.day:
        more = "" if spent.nano + others + so_far > budget.day else _NEXT
        return f"{_gone(spent, others + so_far)} of {usd(budget.day)} for today spent{more}"
    return None


def usd(nano: int, *, sure: bool = True) -> str:
    """Return an amount for people.

    >>> usd(1_500_000_000), usd(42_000_000, sure=False), usd(120_000, sure=False)
    ('$1.50', '~$0.042', '~$0.00012')
    """
    amount = nano / NANO
    digits = ".2f" if amount >= 1 or nano % _CENT == 0 else ".2g" if amount >= 1e-4 else ".6f"
    text = format(amount, digits)
    return f"{'' if sure else '~'}${text}"


def _gone(spent: Spent, held: int) -> str:
    least = "at least " if spent.unknown_runs else ""
    return f"{least}{usd(spent.nano + held, sure=False)}"


def _nano(amount: float | None) -> int | None:
    return None if amount is None else round(amount * NANO)
