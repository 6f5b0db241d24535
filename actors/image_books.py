"""An image of a service in the books: the budget is asked before it, and it is one row of the ledger after it."""

from __future__ import annotations

from ..lanes.pictures import BILLING, Answer, Backend
from ..messages.history import BudgetAsk, BudgetHasRoom, PastRun
from ..messages.refusals import RefusalCode, Refused
from ..state.ledger import CASH_CAP_USD, NANO
from .budget_book import HINT, BudgetBook
from .caller import caller_of


def ask_budget(command: BudgetAsk, book: BudgetBook) -> BudgetHasRoom | Refused:
    """Say whether the caller's money budget has room, or why not. Holds nothing."""
    caller = caller_of(command.environment)
    if isinstance(caller, Refused):
        return caller
    why = book.weighing()(command.paid, command.model, "", caller.settings)
    if why is None:
        return BudgetHasRoom()
    return Refused(code=RefusalCode.BUDGET_SPENT, message=f"the budget has no room: {why}", hint=HINT)


def row_of(  # noqa: PLR0913, PLR0917  the parts of a row
    subject: str, backend: Backend, lane: str, model: str, answered: Answer | Refused | None, at: float
) -> PastRun:
    """Return the row of an image that a service was asked for: its price where it was told, else unknown.

    One that failed, or of whose answer nobody heard (None), may have been paid for all the same.
    """
    usd = answered.usd if isinstance(answered, Answer) else None
    known = usd is not None and 0 <= usd <= CASH_CAP_USD
    return PastRun(
        run_id=subject.replace(" ", "-"),
        attempt=1,
        at=at,
        lane=lane,
        model=model,
        ok=isinstance(answered, Answer) and answered.why is None,
        spent="measured" if known else "unknown",
        pool=BILLING[backend].pool,
        cash_nano=round(usd * NANO) if usd is not None and known else 0,
    )
