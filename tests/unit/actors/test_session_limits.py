"""A session that meets its plan's limit: what Limits is told, and what quotas count of it."""

from datetime import UTC

import pytest
from fakes.state import NOW, scratch_home
from outsourcerer.actors.session_limits import LimitWatch, Met, limit_met
from outsourcerer.messages.facts import QuotaSet
from outsourcerer.messages.session import SessionAccepted, SessionGiven, SessionRecord
from outsourcerer.state.limits import Quota
from outsourcerer.state.limits_reader import rooms
from outsourcerer.state.reader import Reader
from outsourcerer.state.settings import Settings
from outsourcerer.state.store import Store

SPENT = {"type": "end", "ok": False, "failure": "plan-limit", "message": "You've hit your usage limit."}
ID = "20261130-100000-0123456789ab"


def record(**terms):
    fixed = {"session_id": ID, "name": "s", "lane": "claude", "vehicle": "claude", "transport": "native", "cwd": "/"}
    return SessionRecord(**{**fixed, "accepted_at": NOW, "model": "sonnet", "pool": "claude", **terms})


def test_a_turn_that_ends_so_is_told_each_time_with_the_gauge_told_before() -> None:
    watch = LimitWatch()
    gauge = {"type": "limits", "rejected": True, "windows": [{"name": "5h", "utilization": 1.0}, {"name": "7d"}]}
    assert watch.read([gauge]) is None
    assert watch.read([SPENT]) == Met(SPENT["message"], own_word=True, gauge=1.0)
    assert watch.read([{**SPENT, "until": NOW + 60}]) == Met(SPENT["message"], NOW + 60, own_word=True, gauge=1.0)


@pytest.mark.parametrize("failure", ["task", "rate-limit", "interrupted", None, 7])
def test_any_other_end_is_no_limit(failure) -> None:
    assert LimitWatch().read([{**SPENT, "failure": failure}, {"type": "end", "ok": True}, {}]) is None


def test_a_screen_is_told_once_for_as_long_as_it_shows_it_and_is_no_word_of_the_program() -> None:
    watch, shown = LimitWatch(), {"type": "state", "state": "limit", "evidence": "limit-banner"}
    assert watch.read([shown, shown]) == Met("its terminal says so (limit-banner)")
    assert watch.read([shown]) is None
    assert watch.read([{"type": "state", "state": "idle"}, shown]) is not None


def test_what_limits_is_told() -> None:
    settings = Settings({})
    told = limit_met(Met("Spent.", NOW + 60, own_word=True), record(), None, NOW, settings)
    assert (told.key, told.lane, told.model, told.reason) == ("pool:claude", "claude", "sonnet", "Spent")
    assert (told.until, told.own_word) == (NOW + 60, True)
    assert limit_met(Met("Spent.", NOW - 60), record(), None, NOW, settings).until is None
    assert limit_met(Met("x"), record(lane="pi", pool=None), None, NOW, settings).key == "lane:pi"


def test_each_prompt_counts_once_and_nothing_else_does(tmp_path) -> None:
    home = scratch_home(tmp_path)
    store = Store.open(home.database, now=NOW)
    one = record(given=1)
    sends = [SessionGiven(session_id=ID, number=n, send_id=f"c:{n}", op=op) for n, op in ((2, "send"), (3, "answer"))]
    facts = [QuotaSet(lane="claude", model="sonnet", per_day=9, zone="utc")]
    facts += [
        SessionAccepted(session_id=ID, record=one),
        *sends,
        SessionGiven(**{**sends[0].model_dump(), "number": 2}),
    ]
    store.append(facts, NOW)
    store.commit()
    store.close()
    with Reader(home.database) as reader:
        (room,) = rooms(reader, [Quota(lane="claude", model="sonnet", per_day=9, zone="utc")], NOW, UTC)
    assert room.used == 2
