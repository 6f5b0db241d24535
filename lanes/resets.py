"""When a limit ends, read from a CLI's sentence. Pure: the clock and the zone are handed in."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

LONGEST_S = 8 * 86400.0
"""A time further away than this is a misreading."""

_CUE = re.compile(r"(?:try again|resets?|reset at|retry|available(?: again)?|until|limit reached)")
_EPOCH = re.compile(r"(?<!\d)(1\d{9})(?:\d{3})?(?!\d)")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)[t ](\d\d):(\d\d)(?::(\d\d))?(?:\.\d{1,9})?\s?(z|utc|gmt|[+-]\d\d:?\d\d)?")
_PART = re.compile(
    r"(\d{1,6})\s?(days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|m|seconds?|secs?|sec|s)(?![a-z])|(\d{1,6})\s?([dhm])(?=\d)"
)
_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = re.compile(r"(" + "|".join(_MONTHS) + r")[a-z]{0,6}\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?(?!\d)")
_CLOCK_12 = re.compile(r"(?<![\d:])(\d{1,2})(?::(\d\d))?(?::\d\d)?\s?([ap])\.?m\b")
_CLOCK_24 = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?![\d:])")
_ZULU = re.compile(r"(?:\(utc\)|\butc\b|\bgmt\b|\d\s?z\b)")


def parse_reset(text: str, now: float, tz_offset_s: float) -> float | None:
    """Return the epoch second at which a limit ends, or None.

    ``text`` is the CLI's own sentence, for example "try again at 9:38 AM", "resets 9:38am (UTC)",
    "resets Dec 3, 9am", "resets in 11h26m" or one with an epoch in it. ``now`` is epoch seconds and
    ``tz_offset_s`` the machine's offset east of UTC, for clock times without a zone (CLIs print the
    machine's own; a zone named otherwise than UTC is taken to be that one). A clock time without a
    date is its next occurrence. Only 0 < t - now <= 8 days is accepted.
    """
    words = " ".join(text[-4096:].lower().replace("\u202f", " ").split())
    cue = _CUE.search(words)
    tail = words[cue.start() :][:400] if cue else ""
    for when in (
        _epoch(words),
        _iso(words, tz_offset_s),
        _duration(tail, now),
        _clock(tail, now, tz_offset_s),
    ):
        if when is not None and 0 < when - now <= LONGEST_S:
            return when
    return None


def _epoch(words: str) -> float | None:
    match = _EPOCH.search(words)
    return float(match[1]) if match else None


def _iso(words: str, tz_offset_s: float) -> float | None:
    match = _ISO.search(words)
    if match is None:
        return None
    year, month, day, hour, minute = (int(match[i]) for i in range(1, 6))
    zone = match[7]
    offset = tz_offset_s
    if zone in ("z", "utc", "gmt"):
        offset = 0.0
    elif zone:
        digits = zone[1:].replace(":", "")
        offset = (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * (-1 if zone[0] == "-" else 1)
    return _stamp(year, month, day, hour, minute, offset, int(match[6] or 0))


def _duration(tail: str, now: float) -> float | None:
    word = next((word for word in (" in ", " after ") if word in tail), None)
    if word is None:
        return None
    total, place = 0, tail.find(word) + len(word)
    while (match := _PART.match(tail, place)) is not None:
        count, unit = (match[1], match[2]) if match[1] else (match[3], match[4])
        total += int(count) * _UNITS[unit[0]]
        place = match.end()
        while tail.startswith((" ", ","), place) or tail.startswith("and ", place):
            place += 4 if tail.startswith("and ", place) else 1
    return now + total if total else None


def _clock(tail: str, now: float, tz_offset_s: float) -> float | None:
    time = _time_of_day(tail)
    if time is None:
        return None
    hour, minute = time
    offset = 0.0 if _ZULU.search(tail) else tz_offset_s
    here = datetime.fromtimestamp(now, UTC) + timedelta(seconds=offset)
    date = _DATE.search(tail)
    if date is None:
        today = _stamp(here.year, here.month, here.day, hour, minute, offset)
        return None if today is None else today if today > now else today + 86400
    month = _MONTHS.index(date[1]) + 1
    year = int(date[3]) if date[3] else here.year
    when = _stamp(year, month, int(date[2]), hour, minute, offset)
    if when is not None and when <= now and not date[3]:  # "Jan 2" said in December
        return _stamp(year + 1, month, int(date[2]), hour, minute, offset)
    return when


def _time_of_day(tail: str) -> tuple[int, int] | None:
    if match := _CLOCK_12.search(tail):
        hour, minute = int(match[1]), int(match[2] or 0)
        if not 1 <= hour <= 12 or minute > 59:
            return None
        return hour % 12 + (12 if match[3] == "p" else 0), minute
    if match := _CLOCK_24.search(tail):
        return int(match[1]), int(match[2])
    return None


def _stamp(  # noqa: PLR0913, PLR0917 - the parts of a date
    year: int, month: int, day: int, hour: int, minute: int, offset_s: float, second: int = 0
) -> float | None:
    try:
        zone = timezone(timedelta(seconds=offset_s))
        return datetime(year, month, day, hour, minute, second, tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return None
