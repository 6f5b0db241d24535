"""A group's actor: turns within the bound, each journalled first, none given twice, and the end of the whole."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from fakes.actors import eventually, mailbox
from fakes.clock import FakeClock
from fakes.state import GROUP, job_id, record, scratch_home
from outsourcerer.actors.base import Directory, Stop, start
from outsourcerer.actors.crew_slots import CrewSlots
from outsourcerer.actors.crews import Crews
from outsourcerer.actors.feed import Feed
from outsourcerer.actors.group_desk import disclosures
from outsourcerer.actors.group_names import GroupSeen, JobMoved, Release, group_actor
from outsourcerer.actors.journal import Append, Journal
from outsourcerer.actors.memory_book import MemoryBook, free_memory, measured
from outsourcerer.messages.facts import JobAccepted, JobEnded
from outsourcerer.messages.group import FanoutAccepted, FanoutCancelRequested, GroupMember, GroupRecord
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.groups_reader import group, member_states
from outsourcerer.state.reader import Reader
from outsourcerer.state.settings import Settings
from outsourcerer.state.store import Store

MEMBERS = 4


class Bench:
    """Crews and a journal, and mailboxes for who else is told."""

    def __init__(self, folder, *, with_group=True, **changes):
        self.home = scratch_home(folder)
        self.clock, self.directory = FakeClock(), Directory()
        self.store = Store.open(self.home.database, now=self.now)
        members = tuple(GroupMember(job_id=job_id(n), label=f"m{n}", lane="claude") for n in range(MEMBERS))
        given = {"group_id": GROUP, "verb": "run", "cwd": "/w", "most": 2, "members": members, "accepted_at": 1.0}
        facts = [FanoutAccepted(group_id=GROUP, record=GroupRecord.model_validate({**given, **changes}))]
        jobs = [
            record(n, lane="quick", label=f"m{n}", group_id=GROUP, group_most=3, parked=True) for n in range(MEMBERS)
        ]
        facts = facts * with_group + [JobAccepted(job_id=one.job_id, record=one) for one in jobs]
        self.store.append(facts, self.now)
        self.store.commit()
        self.jobs, self.told = mailbox(self.directory, "jobs")
        self.parent, _ = mailbox(self.directory, "parent")
        self.services = SimpleNamespace(
            home=self.home,
            clock=self.clock,
            directory=self.directory,
            attached=False,
            stopping=SimpleNamespace(is_set=lambda: False),
            slots=CrewSlots(Settings.load({}, {}), self.directory),
            memory=MemoryBook(self.home),
            lock=SimpleNamespace(held=False),
            epochs=iter(range(1, 1000)),
        )
        start(
            Journal,
            "journal",
            directory=self.directory,
            parent=self.parent,
            store=self.store,
            clock=self.clock,
            feed=Feed(),
        )
        self.crews = self.begin()

    @property
    def now(self):
        return self.clock.now().wall

    def begin(self):
        return start(Crews, "crews", directory=self.directory, parent=self.parent, services=self.services)

    def released(self):
        return [job for message in list(self.told) if isinstance(message, Release) for job in message.job_ids]

    def write(self, *facts):
        self.directory.tell("journal", Append(writer="test", epoch=1, facts=facts))

    def end(self, *numbers):
        for number in numbers:
            self.write(JobEnded(job_id=job_id(number), state=JobState.DONE, exit=0))
        eventually(lambda: all(self.states()[job_id(number)][0] for number in numbers))
        self.crews.tell(JobMoved(job_id(numbers[0])))

    def states(self):
        with Reader(self.home.database) as reader:
            return member_states(reader, GROUP)

    def group(self):
        with Reader(self.home.database) as reader:
            return group(reader, GROUP)

    def on(self, what, because="it did not happen"):
        """Wait for it while time goes on."""

        def look():
            self.clock.advance(0.5)
            return what()

        return eventually(look, because)

    def close(self):
        for name in ("crews", "journal", "jobs", "parent"):
            self.directory.tell(name, Stop("end"))


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.close()


def test_two_at_a_time_in_order_to_the_end(bench):
    bench.on(lambda: len(bench.released()) == 2)
    assert bench.released() == [job_id(0), job_id(1)]
    assert [parked for _, parked in bench.states().values()] == [False, False, True, True]
    bench.end(1)
    bench.on(lambda: len(bench.released()) == 3)
    bench.end(0)
    bench.on(lambda: len(bench.released()) == 4)
    assert bench.released() == [job_id(number) for number in (0, 1, 2, 3)]
    bench.end(2, 3)
    bench.on(lambda: bench.group()["ended"])
    bench.on(lambda: bench.directory.find(group_actor(GROUP)) is None)
    assert bench.services.slots._slots.used("claude") == 0


def test_another_supervisor_hands_over_again_and_gives_no_new_turn(bench):
    bench.on(lambda: len(bench.released()) == 2)
    bench.directory.tell("crews", Stop("restart"))
    eventually(lambda: bench.directory.find(group_actor(GROUP)) is None)
    bench.told.clear()
    bench.services.slots = CrewSlots(Settings.load({}, {}), bench.directory)
    bench.crews = bench.begin()
    bench.on(lambda: len(bench.released()) == 2)
    assert bench.released() == [job_id(0), job_id(1)]
    bench.clock.advance(60)
    assert len(bench.released()) == 2


def test_a_canceled_group_gives_no_turn(bench):
    bench.on(lambda: len(bench.released()) == 2)
    bench.write(FanoutCancelRequested(group_id=GROUP))
    eventually(lambda: bench.group()["cancel_requested"])
    bench.end(0, 1)
    for _ in range(20):
        bench.clock.advance(1)
    assert len(bench.released()) == 2
    bench.end(2, 3)
    bench.on(lambda: bench.group()["ended"])


def test_a_group_whose_record_is_lost_is_made_anew_from_its_members(tmp_path):
    bench = Bench(tmp_path, with_group=False)
    try:
        bench.crews.tell(GroupSeen(GROUP))  # once more than it looks by itself: that changes nothing
        eventually(bench.group)
        assert [one["label"] for one in bench.group()["members"]] == ["m0", "m1", "m2", "m3"]
        bench.on(lambda: len(bench.released()) == 3)
        bench.end(0)
        bench.on(lambda: len(bench.released()) == MEMBERS)
    finally:
        bench.close()


def test_starts_of_a_lane_that_rewrites_its_files_are_apart(bench):
    eventually(bench.released)
    assert bench.released() == [job_id(0)]
    bench.clock.advance(0.39)
    assert bench.released() == [job_id(0)]
    bench.on(lambda: len(bench.released()) == 2)


def test_what_jobs_used_is_kept_and_read_with_care(tmp_path):
    home = scratch_home(tmp_path)
    book = MemoryBook(home)
    assert book.need("claude") is None
    book.saw({"claude": 1000, "codex": 5})
    book.saw({"claude": 900})
    assert MemoryBook(home).need("claude") == 1000
    (home.root / "lane-memory.json").write_text('{"claude": "x", "codex": -1, "pi": 7, "cc": true}')
    assert [MemoryBook(home).need(lane) for lane in ("claude", "codex", "pi", "cc")] == [None, None, 7, None]
    (home.root / "lane-memory.json").write_text("[" * 100000)
    assert MemoryBook(home).need("pi") is None
    assert free_memory() > 0
    assert measured([("us", os.getpid()), ("gone", 2**22 + 1)])["us"] > 1 << 20


def test_what_leaves_is_told_once_for_each_that_it_goes_to():
    told = (("to a", "of the first"), (), ("to b", "x"), ("to a", "of another"))
    drafts = [SimpleNamespace(plan=SimpleNamespace(disclosure=lines)) for lines in told]
    assert disclosures(drafts) == (("to a", "of the first"), ("to b", "x"))
