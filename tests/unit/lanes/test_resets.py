"""When a limit ends, in the words of real CLIs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.resets import LONGEST_S, parse_reset

NOW = datetime(2026, 11, 30, 9, 10, tzinfo=UTC).timestamp()
EAST_1H = 3600.0


def at(text: str, offset: float = EAST_1H) -> str | None:
    when = parse_reset(text, NOW, offset)
    return None if when is None else datetime.fromtimestamp(when, UTC).strftime("%m-%d %H:%M")


@pytest.mark.parametrize(
    ("said", "when"),
    [
        ("You\u2019ve hit your usage limit. Upgrade to Pro or try again at 10:38 AM.", "11-30 09:38"),
        ("You\u2019ve hit your usage limit. Upgrade to Pro or try again at 9:18 AM.", "12-01 08:18"),
        ("You've hit your 5-hour limit \u00b7 resets 9:38am (UTC)", "11-30 09:38"),
        ("You've hit your weekly limit \u00b7 resets Dec 3, 5pm (Europe/Berlin)", "12-03 16:00"),
        ("try again at Dec 3rd, 2026 9:18 AM", "12-03 08:18"),
        ("Your limit resets 4pm", "11-30 15:00"),
        ("limit resets at 21:38", "11-30 20:38"),
        ("resets 12am", "11-30 23:00"),
        ("resets in 11h26m", "11-30 20:36"),
        ("Try again in 3 days 2 hours 5 minutes.", "12-03 11:15"),
        ("try again in 1 hour and 30 minutes", "11-30 10:40"),
        ("Claude AI usage limit reached|1796031524", "11-30 09:38"),
        ("resets_at: 1796031524000", "11-30 09:38"),
        ("You have exhausted your capacity on this model. Your quota will reset after 15h2m34s.", "12-01 00:12"),
        ("quota exceeded, it will reset at 2026-11-30 15:04:05 UTC", "11-30 15:04"),
        ("limit will reset at 2026-12-01T09:00:00Z", "12-01 09:00"),
        ("limit will reset at 2026-12-01 09:00+02:00", "12-01 07:00"),
    ],
)
def test_known_sentences(said: str, when: str) -> None:
    assert at(said) == when


@pytest.mark.parametrize(
    "said",
    [
        "",
        "try again later",
        "resets in 30 days",
        "resets Jan 2, 9am",
        "usage limit reached|1500000000",
        "resets at 25:99",
        "resets 13pm",
        "resets Feb 31, 9am",
        "it was 10:38 AM when this broke",
        "try again in 999999 days",
    ],
)
def test_what_is_unclear_or_too_far_away_is_unknown(said: str) -> None:
    assert at(said) is None


def test_december_wraps_into_january() -> None:
    now = datetime(2026, 12, 30, 9, 0, tzinfo=UTC).timestamp()
    assert parse_reset("resets Jan 2, 9am", now, 0) == datetime(2027, 1, 2, 9, 0, tzinfo=UTC).timestamp()


@given(st.text(), st.sampled_from(["", "resets in ", "try again at ", "limit|1"]), st.floats(-50_000, 50_000))
def test_any_words_give_nothing_or_a_time_within_eight_days(text: str, lead: str, offset: float) -> None:
    when = parse_reset(lead + text, NOW, offset)
    assert when is None or 0 < when - NOW <= LONGEST_S


@given(st.integers(1, 7 * 86400))
def test_a_duration_is_what_it_says(seconds: int) -> None:
    days, hours = divmod(seconds, 86400)
    hours, minutes = divmod(hours, 3600)
    minutes, rest = divmod(minutes, 60)
    assert parse_reset(f"try again in {days}d{hours}h{minutes}m{rest}s", NOW, 0) == NOW + seconds
