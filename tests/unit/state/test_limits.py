"""Marks, days and quotas: a shorter mark never cuts a longer one, a day begins at midnight whatever the clocks do."""

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from fakes.state import NOW, record
from hypothesis import example, given
from hypothesis import strategies as st
from outsourcerer.messages.facts import (
    JobAccepted,
    JobEnded,
    JobLaunching,
    JobSpawned,
    LaneDown,
    LaneUp,
    QuotaCleared,
    QuotaExhausted,
    QuotaSet,
)
from outsourcerer.messages.model_names import canonical
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.limits import LONGEST_S, Mark, Quota, Room, day_of, key_of, standing, stronger
from outsourcerer.state.limits_reader import marks, quotas, rooms
from outsourcerer.state.limits_view import limits_object
from outsourcerer.state.local_zone import local_zone
from outsourcerer.state.reader import Reader
from outsourcerer.state.store import Store

DAY = 86400.0
ZONES = ("Europe/Berlin", "America/New_York", "Africa/Cairo", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu")


def mark(until, measured_at=NOW, evidence="confirmed", key="pool:claude"):
    return Mark(key=key, lane="claude", until=until, reason="spent", evidence=evidence, measured_at=measured_at)


times = st.floats(min_value=NOW, max_value=NOW + 20 * DAY)
marks_made = st.builds(mark, times, times, st.sampled_from(["confirmed", "unverified"]))


@given(st.lists(marks_made, min_size=1, max_size=12))
def test_the_longest_mark_holds_whatever_came_later(made):
    made.sort(key=lambda one: one.measured_at)
    held = None
    for new in made:
        before = held
        held = stronger(held, new)
        if before is not None and before.live(new.measured_at):
            assert held.until >= before.until
        assert held.until >= min(new.until, new.measured_at + LONGEST_S)


def test_a_mark_of_the_same_end_that_is_better_founded_replaces_a_guess():
    guess, sure = mark(NOW + 60, evidence="unverified"), mark(NOW + 60, NOW + 1)
    assert stronger(guess, sure) is not guess
    assert stronger(sure, mark(NOW + 60, NOW + 2, "unverified")) == sure


def test_a_mark_never_lasts_longer_than_a_plan_s_longest_window():
    assert stronger(None, mark(NOW + 1e9)).until == NOW + LONGEST_S


def test_an_expired_mark_falls_away_and_cuts_nothing():
    old = mark(NOW + 10)
    assert standing([old], NOW + 10) == {}
    assert stronger(old, mark(NOW + 25, NOW + 20)).until == NOW + 25


def test_a_key_is_the_pool_only_where_others_share_it():
    assert key_of("cc", "openrouter") == key_of("codexor", "openrouter") == "pool:openrouter"
    assert key_of("pi", "own-provider") == "lane:pi"
    assert key_of("acp:x", None) == "lane:acp:x"


@given(st.sampled_from(ZONES), st.floats(min_value=1.0e9, max_value=2.1e9))
def test_every_instant_is_in_exactly_one_day(zone, at):
    start, end = day_of(at, ZoneInfo(zone))
    assert start <= at < end
    assert 22.5 * 3600 <= end - start <= 25.5 * 3600
    assert day_of(end, ZoneInfo(zone))[0] == end
    assert day_of(start, ZoneInfo(zone)) == (start, end)


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", (2026, 3, 29), 23),
        ("Europe/Berlin", (2026, 10, 25), 25),
        ("America/New_York", (2026, 3, 8), 23),
        ("America/New_York", (2026, 11, 1), 25),
        ("Africa/Cairo", (2026, 4, 24), 23),  # its clocks skip midnight itself
        ("America/Havana", (2026, 11, 1), 25),  # and its go back to it: two midnights
        ("UTC", (2026, 3, 29), 24),
    ],
)
def test_days_on_which_the_clocks_change(zone, day, hours):
    noon = datetime(*day, 12, tzinfo=ZoneInfo(zone)).timestamp()
    start, end = day_of(noon, ZoneInfo(zone))
    assert end - start == hours * 3600
    local = datetime.fromtimestamp(start, ZoneInfo(zone))
    assert (local.year, local.month, local.day) == day


@pytest.mark.parametrize("change", [(2026, 3, 29), (2026, 10, 25)])
@pytest.mark.parametrize("reset", ["utc", "local"])
def test_days_of_a_quota_through_a_clock_change(tmp_path, change, reset):
    """A run every half hour for four days: never more than the quota in any day, and each day has all of it."""
    berlin = ZoneInfo("Europe/Berlin")
    zone = berlin if reset == "local" else UTC
    first = datetime(*change, tzinfo=zone) - timedelta(days=1)
    store = Store.open(tmp_path / "state.db", now=NOW)
    store.append([QuotaSet(lane="devin", model="glm-5-2", per_day=3, zone=reset)], NOW)
    store.commit()
    let_in: dict[object, int] = {}
    at, number = first.timestamp(), 0
    with Reader(tmp_path / "state.db") as reader:
        (wanted,) = quotas(reader)
        while at < (first + timedelta(days=4)).timestamp():
            (room,) = rooms(reader, [wanted], at, berlin)
            assert room.resets_at > at
            if not room.full(at):
                number += 1
                job = record(number, lane="devin", model="z-ai/glm-5.2", accepted_at=at)
                store.append([JobAccepted(job_id=job.job_id, record=job)], at)
                store.commit()
                day = datetime.fromtimestamp(at, zone).date()
                let_in[day] = let_in.get(day, 0) + 1
            at += 1800
    store.close()
    assert len(let_in) == 4
    assert set(let_in.values()) == {3}


class Kept:
    def __init__(self, folder):
        self.store = Store.open(folder / "state.db", now=NOW)
        self.path = folder / "state.db"

    def put(self, *facts, at=NOW):
        self.store.append(facts, at)
        self.store.commit()

    def marks(self, now=NOW):
        with Reader(self.path) as reader:
            return marks(reader, now)

    def room(self, now=NOW):
        with Reader(self.path) as reader:
            (found,) = rooms(reader, quotas(reader), now, UTC)
            return found


@pytest.fixture
def kept(tmp_path):
    found = Kept(tmp_path)
    yield found
    found.store.close()


def lane_down(until, evidence="confirmed"):
    return LaneDown(key="pool:claude", lane="claude", until=until, reason="spent", evidence=evidence)


def test_marks_survive_and_fall_away(kept):
    kept.put(lane_down(NOW + 3600))
    kept.put(lane_down(NOW + 300, "unverified"), at=NOW + 5)
    assert [one.until for one in kept.marks()] == [NOW + 3600]
    assert kept.marks(NOW + 3600) == []
    kept.put(LaneUp(key="pool:claude", why="cleared on request"))
    assert kept.marks() == []


def test_runs_count_from_acceptance_and_not_if_they_never_began(kept):
    kept.put(QuotaSet(lane="any", model="sonnet", per_day=2))
    begun, never, other = (record(n, lane=lane, model="sonnet") for n, lane in ((1, "claude"), (2, "claude"), (3, "x")))
    for job in (begun, never, other):
        kept.put(JobAccepted(job_id=job.job_id, record=job), JobLaunching(job_id=job.job_id, attempt=1))
    assert (kept.room().used, kept.room().full(NOW)) == (3, True)
    kept.put(JobSpawned(job_id=begun.job_id, shim=None, delegate=None))
    for job in (begun, never):
        kept.put(JobEnded(job_id=job.job_id, state=JobState.CANCELED, exit=130))
    assert kept.room().used == 2


def test_a_refusal_of_the_service_uses_a_quota_up_until_it_says(kept):
    kept.put(QuotaSet(lane="devin", model="glm-5-2", per_day=20))
    kept.put(QuotaExhausted(lane="devin", model="glm-5-2", until=NOW + 500))
    room = kept.room()
    assert room.full(NOW)
    assert not room.full(NOW + 500)
    assert "refused by the service, 0/20 used" in room.sentence(NOW)
    shown = limits_object([], [room], NOW)["quotas"][0]
    assert (shown["full"], shown["used"], shown["exhausted_until"]) == (True, 0, NOW + 500)
    kept.put(QuotaSet(lane="devin", model="glm-5-2", per_day=30))
    assert kept.room().full(NOW)  # a new number takes nothing back of what the service said
    kept.put(QuotaCleared(lane="devin", model="glm-5-2"))
    with Reader(kept.path) as reader:
        assert quotas(reader) == []


def test_a_store_of_before_has_no_limits(tmp_path):
    with Reader(tmp_path / "state.db") as reader:
        assert (marks(reader, NOW), quotas(reader)) == ([], [])


def test_a_quota_says_when_it_is_full_and_until_when():
    room = Room(quota=Quota(lane="devin", model="glm-5-2", per_day=1), used=1, resets_at=NOW + 60)
    assert room.sentence(NOW) == "at 1/1 for today, resets 2026-11-18 11:07 UTC"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("z-ai/glm-5.2", "glm-5-2"),
        ("moonshotai/kimi-k3", "kimi-k3"),
        ("deepseek-v4-pro-high", "deepseek/deepseek-v4-pro"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("sonnet[1m]", "Sonnet"),
    ],
)
def test_ids_of_one_model_have_one_key(one, other):
    assert canonical(one) == canonical(other)


@given(st.text(max_size=80))
@example("0 [")
@example("a /b -low")
def test_every_word_has_a_key_and_the_key_is_its_own(word):
    assert canonical(canonical(word)) == canonical(word)


def test_the_local_zone_is_named_by_tz_or_by_the_machine(tmp_path):
    assert local_zone({"TZ": "Europe/Berlin"}).key == "Europe/Berlin"
    assert local_zone({"TZ": ":America/New_York"}).key == "America/New_York"
    assert local_zone({"TZ": "UTC"}) is UTC
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    assert local_zone({}, link).key == "Asia/Tokyo"
    for nonsense in ({"TZ": "../../etc/passwd"}, {"TZ": "No/Such"}):
        assert local_zone(nonsense).utcoffset(datetime.fromtimestamp(time.time(), UTC)) is not None
    assert local_zone({}, tmp_path / "missing") is not None
