"""Runs that were no job of ours, for the ledger: another tool's books, and images that a service made. Kept once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Message, Observation
from .vocabulary import Told

PORTION = 200
"""Rows of one kind in one message."""

_Word = Annotated[str, Field(min_length=1, max_length=80)]
_At = Annotated[float, Field(gt=0, lt=4e9)]


class PastRun(Message):
    """One attempt that is over."""

    run_id: _Word
    """Ours: made of the row that it was read from, so that it is never kept twice."""
    attempt: Annotated[int, Field(ge=1, le=1_000_000)]
    at: _At
    lane: _Word
    model: Annotated[str, Field(max_length=200)] | None = None
    ok: bool
    spent: Literal["measured", "estimated", "unknown", "plan", "local"]
    pool: Annotated[str, Field(max_length=80)]
    cash_nano: Annotated[int, Field(ge=0, le=10**13)] = 0
    """1e-9 USD; 0 where there is no figure."""


class PastOutcome(Message):
    """What became of a run's result."""

    run_id: _Word
    at: _At
    outcome: Told
    lane: _Word
    model: Annotated[str, Field(max_length=200)]
    """The model's key; empty: the lane's own default."""
    task_kind: Annotated[str, Field(max_length=40)] | None = None


class HistoryImport(Message):
    """client → Jobs; ``history_kept`` once journalled. Known rows change nothing, but one of an open image."""

    kind: Literal["history.import"] = "history.import"
    source: Annotated[str, Field(max_length=4096)]
    """The folder they were read from, or the command of ours that they are of."""
    runs: Annotated[tuple[PastRun, ...], Field(max_length=PORTION)] = ()
    outcomes: Annotated[tuple[PastOutcome, ...], Field(max_length=PORTION)] = ()


class HistoryImported(Observation):
    """Jobs, when runs that were no jobs were handed over: another tool's, or an image of a service."""

    kind: Literal["history.imported"] = "history.imported"
    source: str
    runs: tuple[PastRun, ...] = ()
    outcomes: tuple[PastOutcome, ...] = ()


class HistoryKept(Observation):
    """The rows are journalled."""

    kind: Literal["history_kept"] = "history_kept"
    runs: int
    outcomes: int


class BudgetAsk(Message):
    """client → BudgetBook; ``budget_has_room``, or ``refused``. Asked before something that is no job spends cash."""

    kind: Literal["budget.ask"] = "budget.ask"
    paid: Literal["metered", "unknown"]
    model: Annotated[str, Field(max_length=200)] | None = None
    environment: str
    """The caller's, as in a job's request: a budget may be set in it."""


class BudgetHasRoom(Observation):
    """Nothing is held for it: what it costs is known when it is over."""

    kind: Literal["budget_has_room"] = "budget_has_room"
