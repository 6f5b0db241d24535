"""Sums over the ledger. No pydantic: ``osrc tab`` reads the store itself, and 100,000 rows are to take no time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime, tzinfo
from typing import Any, Literal

from .reader import Reader

FIRST_SCHEMA = 4
"""The first that has a ledger."""
By = Literal["lane", "model", "day", "group"]
NANO = 1_000_000_000
DAY_S = 86400
_EPOCH = date(1970, 1, 1).toordinal()
_LATEST = 4e9
_STEP_S = 7 * DAY_S
"""No zone changes its clocks twice within this."""

_KEYS = {"lane": "lane", "model": "coalesce(model, '')", "group": "coalesce(group_id, '')"}
_COMPARED = frozenset({"measured", "estimated", "plan", "local"})
_SUMS = """
count(*), sum(ok), sum(cash_nano), sum(input), sum(cached_input), sum(cache_write), sum(output), sum(reasoning)
"""


@dataclass(slots=True)
class Tokens:
    """Tokens of the attempts that told them."""

    input: int = 0
    cached_input: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    def take(self, counts: Sequence[int]) -> None:
        """Add counts in the order of the fields."""
        given, cached, written, output, reasoning = counts
        self.input += given
        self.cached_input += cached
        self.cache_write += written
        self.output += output
        self.reasoning += reasoning

    def add(self, more: Tokens) -> None:
        """Take the others in."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(more, one.name))


@dataclass(slots=True)
class Sum:
    """What attempts spent. Every field adds up, so that sums of parts are the sum of the whole."""

    runs: int = 0
    ok: int = 0
    measured_nano: int = 0
    """Cash that receipts tell, in 1e-9 USD."""
    estimated_nano: int = 0
    measured_runs: int = 0
    estimated_runs: int = 0
    unknown_runs: int = 0
    """Runs that may have cost cash nobody knows."""
    local_runs: int = 0
    idle_runs: int = 0
    """Attempts whose program could not even be started."""
    plans: dict[str, int] = field(default_factory=dict)
    """Runs that spent a plan's limits, by its pool."""
    known_runs: int = 0
    """Runs whose tokens are known."""
    tokens: Tokens = field(default_factory=Tokens)
    compared_runs: int = 0
    """Runs whose tokens and cash are both known: what may be set against another model's price."""
    compared_nano: int = 0
    compared: Tokens = field(default_factory=Tokens)

    @property
    def cash_nano(self) -> int | None:
        """All cash, or None: a part of it would look like the whole."""
        return None if self.unknown_runs else self.measured_nano + self.estimated_nano

    def take(self, row: Sequence[Any]) -> None:
        """Take the runs of one grouped row in: spent, pool, known, runs, ok, cash, five counts."""
        spent, pool, known, runs, ok, cash, *counts = row
        self.runs += runs
        self.ok += ok
        if spent == "plan":
            name = str(pool) or "unnamed"
            self.plans[name] = self.plans.get(name, 0) + runs
        elif spent == "local":
            self.local_runs += runs
        elif spent == "nothing":
            self.idle_runs += runs
        elif spent == "measured":
            self.measured_runs += runs
            self.measured_nano += cash
        elif spent == "estimated":
            self.estimated_runs += runs
            self.estimated_nano += cash
        else:
            self.unknown_runs += runs
        if known:
            self.known_runs += runs
            self.tokens.take(counts)
            if spent in _COMPARED:
                self.compared_runs += runs
                self.compared_nano += cash
                self.compared.take(counts)

    def add(self, more: Sum) -> None:
        """Take the others in."""
        for pool, runs in more.plans.items():
            self.plans[pool] = self.plans.get(pool, 0) + runs
        self.tokens.add(more.tokens)
        self.compared.add(more.compared)
        for one in fields(self):
            if isinstance(value := getattr(self, one.name), int):
                setattr(self, one.name, value + getattr(more, one.name))


def sums(reader: Reader, by: By, zone: tzinfo, since: float | None = None) -> dict[str, Sum]:
    """Return what was spent, by lane, model, group or day of ``zone``, in the order of the keys.

    ``since`` is epoch seconds. An empty key stands for a default model, or for jobs of no group.
    """
    if reader.schema < FIRST_SCHEMA:
        return {}
    key, values = (_KEYS[by], ()) if by != "day" else _day_key(reader, zone, since)
    rows = reader.select(
        f"SELECT {key} AS key, spent, pool, known, {_SUMS} FROM ledger"  # noqa: S608 - our own words
        " WHERE ? IS NULL OR at >= ? GROUP BY key, spent, pool, known",
        (*values, since, since),
    )
    found: dict[str, Sum] = {}
    for row in rows:
        word = str(row[0]) if by != "day" else _day(row[0])
        found.setdefault(word, Sum()).take(row[1:])
    return dict(sorted(found.items()))


def whole(parts: Iterable[Sum]) -> Sum:
    """Return the sum of sums."""
    total = Sum()
    for part in parts:
        total.add(part)
    return total


def offsets(zone: tzinfo, begin: float, end: float) -> list[tuple[float, float]]:
    """Return (until, offset) for each span of ``zone`` in which its clocks stay as they are, in seconds, in order.

    The last one has no end (infinity).
    """
    spans: list[tuple[float, float]] = []
    at, now = begin, _offset(zone, begin)
    while at < end:
        later = min(at + _STEP_S, end)
        if (then := _offset(zone, later)) != now:
            low, high = at, later
            while high - low > 1.0:
                middle = float((low + high) // 2)
                low, high = (middle, high) if _offset(zone, middle) == now else (low, middle)
            spans.append((float(round(high)), now))
            now = then
        at = later
    return [*spans, (float("inf"), now)]


def _day_key(reader: Reader, zone: tzinfo, since: float | None) -> tuple[str, tuple[float, ...]]:
    """Return the expression of a row's day in ``zone``, as days since 1970, and what is bound in it."""
    ends = reader.select("SELECT min(at), max(at) FROM ledger WHERE ? IS NULL OR at >= ?", (since, since))
    first, last = (min(max(float(end or 0), 0.0), _LATEST) for end in ends[0])
    # A whole second: where the clocks change is then found exactly.
    *changes, (_, lasting) = offsets(zone, float(int(first)), float(int(last)) + 1)
    cases = " ".join("WHEN at < ? THEN ?" for _ in changes)
    shift = f"CASE {cases} ELSE ? END" if changes else "?"
    values = (*(value for change in changes for value in change), lasting)
    return f"cast((at + {shift}) / {DAY_S} AS INTEGER)", values


def _day(number: int) -> str:
    try:
        return date.fromordinal(_EPOCH + int(number)).isoformat()
    except (ValueError, OverflowError):
        return "?"


def _offset(zone: tzinfo, at: float) -> float:
    offset = datetime.fromtimestamp(at, zone).utcoffset()
    return offset.total_seconds() if offset is not None else 0.0
