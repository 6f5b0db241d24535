"""The end of a job in words: when a limit ends."""

from __future__ import annotations

import time

from outsourcerer.actors.job_end import limit_note
from outsourcerer.messages.lane_events import FailureKind, TurnEnded

NOW = 1_796_000_000.0


def turn(**values: object) -> TurnEnded:
    return TurnEnded(ok=False, failure=FailureKind.PLAN_LIMIT, **values)


def test_an_instant_that_the_cli_gave_is_said_in_utc():
    assert limit_note(turn(until=NOW + 3600), NOW) == "the limit ends at " + time.strftime(
        "%Y-%m-%d %H:%M UTC", time.gmtime(NOW + 3600)
    )


def test_words_are_read_where_the_job_ran():
    assert limit_note(turn(message="try again in 2h30m"), NOW) == "the limit ends at " + time.strftime(
        "%Y-%m-%d %H:%M UTC", time.gmtime(NOW + 9000)
    )


def test_what_was_not_said_or_can_not_be_is_not_said():
    assert limit_note(turn(message="no more for you"), NOW) is None
    assert limit_note(turn(until=NOW - 1), NOW) is None
    assert limit_note(turn(until=NOW + 30 * 86400), NOW) is None
    assert limit_note(None, NOW) is None
    assert limit_note(TurnEnded(ok=True, until=NOW + 60), NOW) is None
    assert limit_note(TurnEnded(ok=False, failure=FailureKind.AUTH, until=NOW + 60), NOW) is None
