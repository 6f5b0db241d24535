"""Room for one more job, and how many an hour may have."""

from __future__ import annotations

import os

import pytest
from fakes.state import facts_of_a_life, record, scratch_home
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from outsourcerer.actors.admission import HOUR_S, PLENTY, Admission, Floors, Launches, Room, look_at_room
from outsourcerer.messages.facts import JobAccepted
from outsourcerer.messages.job import Identity
from outsourcerer.messages.refusals import RefusalCode
from outsourcerer.state.settings import Settings
from outsourcerer.state.store import Store

MIB = 1024 * 1024


def settings(**environ: str) -> Settings:
    return Settings.load(environ)


@pytest.fixture
def home(tmp_path):
    return scratch_home(tmp_path)


@pytest.mark.parametrize(
    ("room", "words"),
    [
        (Room(127 * MIB, 999 * MIB), "127 MiB of memory are free, and a job is started from 128 MiB"),
        (Room(999 * MIB, 63 * MIB), "63 MiB of space are free on the disk of"),
        (Room(0, 0), "0 MiB of memory"),
        (Room(128 * MIB, 64 * MIB), None),
        (Room(None, None), None),
    ],
)
def test_a_machine_without_room(home, room, words):
    found = Floors(home, lambda: 0.0, lambda _: room).check(settings())
    if words is None:
        assert found is None
    else:
        assert found is not None
        assert found.code is RefusalCode.LOW_RESOURCES
        assert words in found.message
        assert found.hint


def test_no_floor_asks_nobody(home):
    def never(_root: str) -> Room:
        raise AssertionError("looked")

    assert Floors(home, lambda: 0.0, never).check(settings(OSRC_MIN_FREE_MEMORY="0", OSRC_MIN_FREE_DISK="0")) is None


def test_it_looks_once_a_second(home):
    looks, now = [], [100.0]
    floors = Floors(home, lambda: now[0], lambda root: looks.append(root) or Room(999 * MIB, 999 * MIB))
    for at in (100.0, 100.5, 101.0, 101.5, 102.0, 99.0):
        now[0] = at
        floors.check(settings())
    assert len(looks) == 3, "at first, after a second, and when the clock went back"


def test_this_machine_tells(home):
    seen = look_at_room(str(home.root))
    assert seen.memory is None or seen.memory > MIB
    assert seen.disk is None or seen.disk > 0


def test_an_hour_holds_so_many(home):
    launches, few = Launches(home), settings(OSRC_LAUNCHES_PER_HOUR="3")
    assert [launches.admit(few, 1000.0 + second) for second in range(3)] == [None] * 3
    refused = launches.admit(few, 1010.0)
    assert refused is not None
    assert refused.code is RefusalCode.TOO_MANY_LAUNCHES
    assert "3 jobs were taken within the last hour, and 3 are allowed (environment OSRC_LAUNCHES_PER_HOUR)" in (
        refused.message
    )
    assert "60 min" in refused.message
    assert launches.admit(few, 1000.0 + HOUR_S) is None, "the first one is an hour old"
    assert launches.admit(few, 1000.5 + HOUR_S) is not None
    assert launches.admit(settings(OSRC_LAUNCHES_PER_HOUR="0"), 1010.0) is None


def test_a_new_supervisor_counts_what_the_store_knows(home):
    store = Store.open(home.database, now=1.0)
    at = record(1).accepted_at
    for number in range(4):
        store.append(facts_of_a_life(number), at)
    store.commit()
    store.close()
    few = settings(OSRC_LAUNCHES_PER_HOUR="5")
    launches = Launches(home)
    assert launches.admit(few, at + 60) is None
    refused = launches.admit(few, at + 61)
    assert refused is not None
    assert "5 jobs were taken" in refused.message


@pytest.mark.parametrize("attached", [False, True])
def test_what_others_take_meanwhile_counts_at_once(home, attached):
    store = Store.open(home.database, now=1.0)
    at = record(1).accepted_at
    few = settings(OSRC_LAUNCHES_PER_HOUR="4")
    launches = Launches(home, attached=attached)
    assert launches.admit(few, at + 1) is None
    process = Identity(pid=os.getpid(), started=1.0, boot_id="b")
    ours, theirs = (process, None) if attached else (None, process)

    def accept(number: int, owner: Identity | None) -> None:
        one = record(number).model_copy(update={"owner": owner, "accepted_at": at + 2})
        store.append([JobAccepted(job_id=one.job_id, record=one)], at + 2)
        store.commit()

    accept(1, ours)  # this is the one that was counted already
    accept(2, theirs)
    accept(3, theirs)
    assert launches.admit(few, at + 3) is None
    assert launches.admit(few, at + 4) is not None
    assert launches.admit(few, at + HOUR_S + 2.5) is None, "they are an hour old too"
    store.close()


@pytest.mark.parametrize(("most", "seen"), [(PLENTY + 1, 3), (PLENTY + 10, 1)])
def test_the_store_is_asked_once_a_second_where_there_is_room_for_all(home, monkeypatch, most, seen):
    looks = []
    monkeypatch.setattr(Launches, "_since", lambda self, at, real=Launches._since: looks.append(at) or real(self, at))
    launches, many = Launches(home), settings(OSRC_LAUNCHES_PER_HOUR=str(most))
    assert [launches.admit(many, 1000.0 + tenth / 10) for tenth in (0, 5, 9)] == [None] * 3
    assert len(looks) == seen
    assert launches.admit(many, 1001.5) is launches.admit(many, 1000.0) is None
    assert len(looks) == seen + 2, "a second later, and when the clock went back"


@given(st.lists(st.floats(0, 3 * HOUR_S), min_size=1, max_size=60), st.integers(1, 8))
@limits(max_examples=60, deadline=None)
def test_no_hour_ever_has_more(tmp_path_factory, times, most):
    launches = Launches(scratch_home(tmp_path_factory.mktemp("h")))
    chosen = settings(OSRC_LAUNCHES_PER_HOUR=str(most))
    taken = [at for at in sorted(times) if launches.admit(chosen, at) is None]
    assert all(len([one for one in taken if at - HOUR_S < one <= at]) <= most for at in taken)


def test_both_are_asked(home):
    poor = Admission(home, wall=lambda: 0.0, mono=lambda: 0.0, look=lambda _: Room(0, 0))
    assert poor.admit(settings()) is not None
    rich = Admission(home, wall=lambda: 5.0, mono=lambda: 0.0, look=lambda _: Room(None, None))
    one = settings(OSRC_LAUNCHES_PER_HOUR="1")
    assert rich.admit(one) is None
    assert rich.admit(one) is not None
