"""Limits: one verification and one mark for however many meet a limit, quotas that a wave does not overshoot."""

import threading

import pytest
from fakes.actors import eventually, mailbox
from fakes.clock import FakeClock
from fakes.state import job_id, record, scratch_home
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.actors.base import Directory, Stop, ask, start
from outsourcerer.actors.feed import Feed
from outsourcerer.actors.journal import Journal
from outsourcerer.actors.limit_book import LimitBook
from outsourcerer.actors.limits import LimitMet, Limits, Verified, cleared, quota, verify
from outsourcerer.messages.facts import JobAccepted
from outsourcerer.messages.internal import LimitSettled
from outsourcerer.state.reader import Reader
from outsourcerer.state.store import Store


class Services:
    """The part of the services that Limits uses."""

    def __init__(self, home, clock, directory):
        self.directory, self.clock = directory, clock
        self.limits = LimitBook(home, lambda: clock.now().wall)
        self.epochs = iter(range(1, 1000))


class Bench:
    def __init__(self, folder):
        self.home = scratch_home(folder)
        self.clock, self.directory = FakeClock(), Directory()
        self.services = Services(self.home, self.clock, self.directory)
        self.store = Store.open(self.home.database, now=self.now)
        self.checks = []
        self.verdict = None
        self.hold = threading.Event()
        self.hold.set()
        self.parent, _ = mailbox(self.directory, "parent")
        start(
            Journal,
            "journal",
            directory=self.directory,
            parent=self.parent,
            store=self.store,
            clock=self.clock,
            feed=Feed(),
        )
        self.limits = start(
            Limits, "limits", directory=self.directory, parent=self.parent, services=self.services, check=self.check
        )

    @property
    def now(self):
        return self.clock.now().wall

    @property
    def book(self):
        return self.services.limits

    def check(self, met):
        self.checks.append(met.key)
        assert self.hold.wait(120)
        return self.verdict or verify(met)

    def meet(self, to, **changes):
        given = {
            "to": to,
            "key": "pool:claude",
            "lane": "claude",
            "model": "sonnet",
            "reason": "the plan's limit is used up",
            "until": self.now + 1800,
            "own_word": True,
        }
        self.limits.tell(LimitMet(**{**given, **changes}))

    def kinds(self):
        with Reader(self.home.database) as reader:
            return [kind for _, _, kind, _ in reader.entries(0, 1000)]


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.hold.set()
    for name in ("limits", "journal", "parent"):
        made.directory.tell(name, Stop("end"))


def test_ten_that_meet_a_limit_together_are_one_verification_and_one_mark(bench):
    bench.hold.clear()
    jobs = [mailbox(bench.directory, f"job{number}") for number in range(10)]
    for number, (handle, _) in enumerate(jobs):
        bench.meet(handle, until=bench.now + 1000 + number)
    eventually(lambda: bench.checks)
    bench.hold.set()
    for _, told in jobs:
        (settled,) = eventually(lambda told=told: told)
        assert settled == LimitSettled(key="pool:claude", verdict="confirmed", until=bench.now + 1009 + 60)
    assert bench.checks == ["pool:claude"]
    assert bench.kinds() == ["limits.lane_down"]
    assert bench.book.hindrance("claude", "claude", None).kind == "down"
    assert bench.book.hindrance("codex", "chatgpt", None) is None


def test_one_that_comes_late_is_told_of_the_mark_there_is(bench):
    handle, told = mailbox(bench.directory, "job")
    bench.meet(handle)
    eventually(lambda: told)
    bench.meet(handle, own_word=False, until=None)
    eventually(lambda: len(told) == 2)
    assert told[1] == told[0]
    assert bench.checks == ["pool:claude"]
    bench.meet(handle, until=bench.now + 9000)
    eventually(lambda: len(told) == 3)
    assert told[2].until == bench.now + 9060
    assert bench.kinds() == ["limits.lane_down"] * 2


def test_words_alone_mark_for_a_short_while_and_a_gauge_that_is_not_full_not_at_all(bench):
    handle, told = mailbox(bench.directory, "job")
    bench.meet(handle, own_word=False, gauge=0.4)
    eventually(lambda: told)
    assert (told[0].verdict, told[0].until) == ("answered", None)
    assert bench.kinds() == []
    bench.meet(handle, own_word=False)
    eventually(lambda: len(told) == 2)
    assert (told[1].verdict, told[1].until) == ("unverified", bench.now + 300)
    assert "(unverified)" in bench.book.hindrance("claude", "claude", None).sentence
    bench.clock.advance(301)
    assert bench.book.hindrance("claude", "claude", None) is None


def test_a_check_that_fails_leaves_nobody_waiting(bench):
    def broken(met):
        raise OSError(met.key)

    start(Limits, "other", directory=bench.directory, parent=bench.parent, services=bench.services, check=broken)
    handle, told = mailbox(bench.directory, "job")
    bench.limits = bench.directory.find("other")
    bench.meet(handle)
    eventually(lambda: told)
    assert told[0].verdict == "unverified"
    bench.directory.tell("other", Stop("end"))


def test_a_refusal_uses_up_the_quota_of_that_model_there(bench):
    assert ask(bench.limits, quota("claude", "sonnet", 5, "utc"), 20) is True
    handle, told = mailbox(bench.directory, "job")
    bench.meet(handle, key="pool:other")
    eventually(lambda: told)
    assert "refused by the service, 0/5 used" in bench.book.hindrance("claude", "claude", "sonnet").sentence
    assert bench.book.hindrance("claude", "claude", "opus") is None
    assert ask(bench.limits, cleared(["pool:other"], [("claude", "sonnet")]), 20) is True
    assert bench.book.state() == ([], [])


def test_the_verifier_may_know_better_than_the_words(bench):
    bench.verdict = Verified("confirmed", until=bench.now + 7200)
    handle, told = mailbox(bench.directory, "job")
    bench.meet(handle, until=bench.now + 60)
    eventually(lambda: told)
    assert told[0].until == bench.now + 7260


def test_a_wave_never_overshoots_a_quota(bench):
    """Forty threads at once, a quota of seven: seven are let in, though none is counted before its commit."""
    assert ask(bench.limits, quota("any", "sonnet", 7, "utc"), 20) is True
    entered, refused = [], []
    begin, leave = threading.Barrier(40), threading.Barrier(41)

    def one(number):
        begin.wait(120)
        hindrance = bench.book.take(str(number), "claude" if number % 2 else "cc", "sonnet")
        (refused if hindrance else entered).append(number)
        leave.wait(120)
        bench.book.give_back(str(number))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    leave.wait(120)
    for thread in threads:
        thread.join(120)
    assert (len(entered), len(refused)) == (7, 33)
    assert bench.book.take("late", "claude", "sonnet") is None  # given back by all: nothing was committed


@given(st.lists(st.tuples(st.sampled_from(["commit", "drop"]), st.sampled_from(["a", "b"])), max_size=20))
@settings(max_examples=25, deadline=None)
def test_reservations_and_commits_add_up_to_the_quota_and_never_to_more(tmp_path_factory, acts):
    home, clock = scratch_home(tmp_path_factory.mktemp("home")), FakeClock()
    book = LimitBook(home, lambda: clock.now().wall)
    store = Store.open(home.database, now=clock.now().wall)
    store.append(quota("any", "sonnet", 4, "utc").facts, clock.now().wall)
    store.commit()
    committed = 0
    for number, (act, lane) in enumerate(acts):
        hindrance = book.take(job_id(number), lane, "sonnet")
        assert (hindrance is None) == (committed < 4)
        if hindrance is None and act == "commit":
            job = record(number, lane=lane, model="sonnet")
            store.append([JobAccepted(job_id=job_id(number), record=job)], clock.now().wall)
            store.commit()
            committed += 1
        book.give_back(job_id(number))
    assert committed <= 4
    assert book.state()[1][0].used == committed
    store.close()
