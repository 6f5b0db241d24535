"""What a named model lists its tokens at, for a comparison. Pure, and the standard library only: ``tab`` is quick.

The catalogue (``lanes/catalog/listing.py`` has its shape) is asked first; of the model that stands for "a frontier
model" where nobody names another, the list price of a date is known here.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass

MILLION = 1_000_000.0
DEAREST = 1.0
"""USD for a token."""
_PLAIN = re.compile(r"-?\d{1,30}(?:\.\d{0,30})?(?:[eE][+-]?\d{1,3})?|\.\d{1,30}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A model's list price in USD per token."""

    model: str
    prompt: float
    completion: float
    cached: float
    as_of: str
    """Month of the price, or whence it is."""

    def of(self, *, fresh: int, cached: int, output: int) -> float:
        """Return what these tokens would cost, in USD. ``fresh``: not read from a cache."""
        return fresh * self.prompt + cached * self.cached + output * self.completion


FRONTIER = Price(
    model="anthropic/claude-opus-4.5",
    prompt=5 / MILLION,
    completion=25 / MILLION,
    cached=0.5 / MILLION,
    as_of="2025-11",
)
"""Public list price. It stands in for a frontier model where none is named."""


def price_of(model: str | None, catalogue: bytes | None) -> Price | None:
    """Return the price of ``model`` (None: ``FRONTIER``'s), by the catalogue where it knows; None where nobody does."""
    wanted = model or FRONTIER.model
    found = _listed(wanted, catalogue) if catalogue is not None else None
    return found or (FRONTIER if wanted == FRONTIER.model else None)


def _listed(wanted: str, catalogue: bytes) -> Price | None:
    if json.dumps(wanted).encode() not in catalogue:
        return None  # most catalogues are a megabyte that need not be read then
    try:
        data = json.loads(catalogue)
    except (ValueError, RecursionError):
        return None
    rows = data.get("data") if isinstance(data, dict) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("id") == wanted and isinstance(row.get("pricing"), dict):
            prompt, completion, cached = (
                usd_per_token(row["pricing"].get(name)) for name in ("prompt", "completion", "input_cache_read")
            )
            if prompt is not None and completion is not None:
                read = prompt if cached is None else cached
                return Price(model=wanted, prompt=prompt, completion=completion, cached=read, as_of="the catalogue")
    return None


def usd_per_token(value: object) -> float | None:
    """Return a price of a catalogue; what is no plain number from 0 up (``-1`` stands for "varies") is unknown.

    So is what no model can cost: a sum of such prices would be no number any more.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value)[:40]
    number = float(text) if _PLAIN.fullmatch(text) else math.nan
    return abs(number) if 0 <= number <= DEAREST else None
