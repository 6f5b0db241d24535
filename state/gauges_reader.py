"""The gauges that runs and sessions told, from the store. No pydantic: looking commands read it themselves."""

from __future__ import annotations

from .gauges import Gauge
from .reader import Reader

FIRST_SCHEMA = 4
"""The first that has them."""


def stored(reader: Reader) -> list[Gauge]:
    """Return every gauge in the store; a row that makes no sense is none."""
    if reader.schema < FIRST_SCHEMA:
        return []
    found = []
    for key, name, used, resets_at, at, source in reader.select(
        "SELECT key, name, utilization, resets_at, measured_at, source FROM gauges"
    ):
        if isinstance(used, float) and isinstance(at, float) and isinstance(resets_at, float | None):
            gauge = Gauge(
                key=str(key), name=str(name), utilization=used, resets_at=resets_at, measured_at=at, source=str(source)
            )
            found.append(gauge)
    return found
