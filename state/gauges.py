"""How far the windows of a plan's limits are used, as far as anybody was told. Pure, standard library only.

A reading ages. A *fresh* one may decide where work goes. A *floor* is older: the window has not begun anew since, so
at least that much is used, and nothing is decided by it. A window that has begun anew since is *over*: unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Standing = Literal["fresh", "floor", "over"]

MAX_AGE_S = 7200.0
"""``OSRC_LIMITS_MAX_AGE``'s default."""
CONSERVE_PERCENT = 50.0
"""``OSRC_CONSERVE_THRESHOLD``'s default."""
SKEW_S = 60.0
"""A reading from further in the future was made by another clock."""
LENGTHS_S = {"five_hour": 5 * 3600.0, "seven_day": 7 * 86400.0}
"""Windows whose length is known by their name."""
CLAUDE = "pool:claude"
CHATGPT = "pool:chatgpt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """One window, as it was told. Times are epoch seconds."""

    key: str
    """As that of a mark: ``pool:NAME`` or ``lane:NAME``."""
    name: str
    utilization: float
    """0.0 to 1.0."""
    resets_at: float | None
    measured_at: float
    source: str
    """Who told it: run, session, statusline, rollout."""

    def standing(self, now: float, max_age_s: float = MAX_AGE_S) -> Standing:
        """Return what the reading is worth now."""
        length = LENGTHS_S.get(self.name)
        ends = self.resets_at if self.resets_at is not None else length and self.measured_at + length
        if ends is not None and now >= ends:
            return "over"
        return "fresh" if -SKEW_S <= now - self.measured_at <= max_age_s else "floor"


def newest(gauges: Iterable[Gauge], now: float) -> list[Gauge]:
    """Return the newest reading of each window, by key and name. One from the future is no newer than now."""
    best: dict[tuple[str, str], Gauge] = {}
    for gauge in gauges:
        known = best.get((gauge.key, gauge.name))
        if known is None or _worth(gauge, now) > _worth(known, now):
            best[gauge.key, gauge.name] = gauge
    return [best[place] for place in sorted(best)]


def pressure(gauges: Iterable[Gauge], key: str, now: float, max_age_s: float = MAX_AGE_S) -> float | None:
    """Return how far the fullest window of a pool is used, by fresh readings alone; None where there is none."""
    used = [one.utilization for one in gauges if one.key == key and one.standing(now, max_age_s) == "fresh"]
    return max(used, default=None)


def headroom(gauges: Sequence[Gauge], key: str, now: float, line: float, max_age_s: float = MAX_AGE_S) -> bool:
    """Whether every window of a pool that is not over is freshly known to be used less than ``line`` (0.0 to 1.0)."""
    told = [(one.standing(now, max_age_s), one.utilization) for one in gauges if one.key == key]
    standing = [(worth, used) for worth, used in told if worth != "over"]
    return bool(standing) and all(worth == "fresh" and used < line for worth, used in standing)


def gauge_object(gauge: Gauge, now: float, max_age_s: float = MAX_AGE_S) -> dict[str, Any]:
    """Return a gauge as ``--json`` shows it. Of a window that has begun anew the use is null: it is not known."""
    worth = gauge.standing(now, max_age_s)
    return {
        "key": gauge.key,
        "window": gauge.name,
        "utilization": None if worth == "over" else gauge.utilization,
        "standing": worth,
        "resets_at": gauge.resets_at,
        "measured_at": gauge.measured_at,
        "age_s": max(0.0, now - gauge.measured_at),
        "source": gauge.source,
    }


def _worth(gauge: Gauge, now: float) -> tuple[bool, float]:
    return gauge.measured_at <= now + SKEW_S, gauge.measured_at
