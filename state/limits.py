"""Lane health and daily quotas, pure: marks that say how long a lane is down, days, and how many runs are left.

A *mark* belongs to a key: the pool whose limit is spent, or the lane where its pool is nobody else's. A shorter
mark never cuts a longer one. A *quota* is so many runs of a model in a day; a day begins at midnight, in UTC or
in a zone, whatever the clocks do there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal

from ..messages.model_names import canonical

Evidence = Literal["confirmed", "unverified"]
"""Whether a limit was seen in the vendor's own figures or final event, or only read in words."""

DayZone = Literal["utc", "local"]

ANY = "any"
"""A quota's lane that stands for all of them together."""

LANE_OWN = frozenset({"own-provider", "openai-compatible", "unknown", "local", ""})
"""Pools that are no pool: what one of their lanes has used up says nothing of another."""

LONGEST_S = 32 * 86400.0
"""No mark lasts longer: the longest window that a plan has is a month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A pool that refuses for now. Times are epoch seconds."""

    key: str
    lane: str
    """The lane that met it."""
    until: float
    reason: str
    evidence: Evidence
    measured_at: float

    def live(self, now: float) -> bool:
        """Whether it still holds."""
        return now < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """So many runs of a model in a day."""

    lane: str
    """A lane's name, or ``any``: all of them together."""
    model: str
    """The model's key (``messages/model_names.py``); empty: a lane's own default."""
    per_day: int
    zone: DayZone = "utc"
    exhausted_until: float | None = None
    """The vendor refused before our count was full: nothing is left until then."""

    def covers(self, lane: str, model: str) -> bool:
        """Whether a run of this model key on this lane counts."""
        return self.model == model and self.lane in (ANY, lane)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What is left of a quota today."""

    quota: Quota
    used: int
    """Runs of today, those that are about to begin included."""
    resets_at: float

    def full(self, now: float) -> bool:
        """Whether no further run may begin."""
        spent = self.quota.exhausted_until is not None and now < self.quota.exhausted_until
        return spent or self.used >= self.quota.per_day

    def sentence(self, now: float) -> str:
        """Return the state in words, for a refusal."""
        until = self.quota.exhausted_until
        if until is not None and now < until and self.used < self.quota.per_day:
            return f"refused by the service, {self.used}/{self.quota.per_day} used; resets {instant(until)}"
        return f"at {self.used}/{self.quota.per_day} for today, resets {instant(self.resets_at)}"


def key_of(lane: str, pool: str | None) -> str:
    """Return the key of a lane's marks: its pool where that is shared, else the lane itself."""
    return f"lane:{lane}" if pool is None or pool in LANE_OWN else f"pool:{pool}"


def stronger(old: Mark | None, new: Mark) -> Mark:
    """Return the mark that holds when ``new`` comes to ``old``: the one that lasts longer.

    An equal end keeps the old one, unless the new one is better founded.
    """
    new = replace(new, until=min(new.until, new.measured_at + LONGEST_S))
    if old is None or not old.live(new.measured_at) or new.until > old.until:
        return new
    better = old.evidence == "unverified" and new.evidence == "confirmed"
    return new if better and new.until == old.until else old


def standing(marks: Iterable[Mark], now: float) -> Mapping[str, Mark]:
    """Return the marks that still hold, by key."""
    return {mark.key: mark for mark in marks if mark.live(now)}


def day_of(now: float, zone: tzinfo = UTC) -> tuple[float, float]:
    """Return the first instant of the day that ``now`` is in, and the first of the next.

    Days of 23 and 25 hours are what they are; where a zone skips midnight, the day begins at the first instant
    that exists, and where it has two midnights, at the first of them.
    """
    today = datetime.fromtimestamp(now, zone).date()
    start, end = _begins(today, zone), _begins(today + timedelta(days=1), zone)
    while now < start:  # the clocks went back over midnight: it is yesterday once more
        today -= timedelta(days=1)
        start, end = _begins(today, zone), start
    while now >= end:
        today += timedelta(days=1)
        start, end = end, _begins(today + timedelta(days=1), zone)
    return start, end


def covering(quotas: Sequence[Quota], lane: str, model: str | None) -> list[Quota]:
    """Return the quotas under which a run of ``model`` on ``lane`` falls."""
    key = canonical(model)
    return [quota for quota in quotas if quota.covers(lane, key)]


def instant(at: float) -> str:
    """Return an instant in words, always in UTC: whoever reads it may be elsewhere."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _begins(day: date, zone: tzinfo) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()
