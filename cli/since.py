"""``--since``: a span back from now, or a day."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from .errors import CliError

_SPAN = re.compile(r"(\d{1,6})([mhdw])", re.ASCII)
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def instant_of(word: str, now: float, zone: tzinfo) -> float:
    """Return the instant a person means, in epoch seconds. Raises CliError (usage).

    >>> from datetime import UTC
    >>> instant_of("2h", 10_000.0, UTC), instant_of("1970-01-02", 0.0, UTC)
    (2800.0, 86400.0)
    """
    given = word.strip().lower()
    found = _SPAN.fullmatch(given)
    if found is not None:
        return now - int(found[1]) * _SECONDS[found[2]]
    today = datetime.fromtimestamp(now, zone).date()
    days = {"today": today, "yesterday": today - timedelta(days=1)}
    try:
        day = days.get(given) or datetime.strptime(given, "%Y-%m-%d").date()  # noqa: DTZ007 - only its day is used
        return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        raise CliError(
            "usage", f"{word[:40]!r} is no time", "write 30m, 24h, 7d, 4w, today, yesterday or 2026-11-30"
        ) from None
