"""The tokens and the list price of a turn, summed from its messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...messages.job import TokenUsage
from ...messages.lane_events import UsageReported
from ..values import as_count, as_number, as_object

FIELDS: Mapping[str, str] = {
    "input": "input",
    "cached_input": "cacheRead",
    "cache_write": "cacheWrite",
    "output": "output",
}
"""Our name → pi's. pi counts uncached, cached and written prompt tokens apart."""

_MODELS = 16


class Ledger:
    """Adds up. A count that no message told stays unknown."""

    def __init__(self) -> None:
        """Start with nothing counted."""
        self._sums: dict[str, dict[str, int]] = {}
        self._total: dict[str, int] = {}
        self._cash: float | None = None

    def add(self, model: str, usage: Mapping[str, Any]) -> bool:
        """Count the usage of one message of ``model``; return whether there was any to count.

        pi fills in zeros where its provider told nothing. Of a flood of model names the first are told apart.
        """
        if not any(as_count(usage.get(theirs)) for theirs in FIELDS.values()):
            return False
        rows = [self._total]
        if model in self._sums or len(self._sums) < _MODELS:
            rows.append(self._sums.setdefault(model, {}))
        for ours, theirs in FIELDS.items():
            if (count := as_count(usage.get(theirs))) is not None:
                for row in rows:
                    row[ours] = row.get(ours, 0) + count
        if (cash := as_number(as_object(usage.get("cost")).get("total"))) is not None:
            self._cash = (self._cash or 0.0) + cash
        return True

    def report(self) -> UsageReported:
        """Return the sum so far; its price is what pi's own list says, 0 for a model without one."""
        by_model = {model: TokenUsage(**row) for model, row in self._sums.items()}
        return UsageReported(usage=TokenUsage(**self._total), by_model=by_model, cash_usd=self._cash or None)
