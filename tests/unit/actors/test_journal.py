"""One fsync for as many as wait, order as promised, and nothing told before it is on disk."""

import pytest
from fakes.actors import Barrier, eventually, mailbox
from fakes.clock import FakeClock
from fakes.state import NOW, job_id, record
from outsourcerer.actors.base import Directory, Probe, Query, ReplyPort, Stop, start
from outsourcerer.actors.feed import Feed
from outsourcerer.actors.journal import BATCH, Append, Journal, Settle
from outsourcerer.messages.facts import JobAccepted, JobEnding, JobLaunching
from outsourcerer.messages.internal import FactsCommitted, FactsRefused
from outsourcerer.messages.refusals import RefusalCode
from outsourcerer.state.errors import StateError
from outsourcerer.state.reader import Reader
from outsourcerer.state.sqlite_errors import DamagedStore
from outsourcerer.state.store import Store


class WatchedStore:
    """A real store that counts its commits, can be held up in one, and fails on demand."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.commits = 0
        self.fail_appends: list[Exception] = []
        self.fail_commits: list[Exception] = []
        self.barrier: Barrier | None = None
        self.within_append: Barrier | None = None
        self.closed = False

    def append(self, facts, at):
        if self.fail_appends and (error := self.fail_appends.pop(0)) is not None:
            self.store.rollback()
            raise error
        entries = self.store.append(facts, at)
        if self.within_append is not None:
            self.within_append()
        return entries

    def commit(self):
        if self.barrier is not None:
            barrier, self.barrier = self.barrier, None
            barrier()
        if self.fail_commits and (error := self.fail_commits.pop(0)) is not None:
            self.store.rollback()
            raise error
        self.commits += 1
        self.store.commit()

    def close(self):
        self.closed = True
        self.store.close()


def full() -> StateError:
    return StateError("state_full", "no space left on the disk", "make room")


class Bench:
    def __init__(self, folder) -> None:
        self.path = folder / "state.db"
        self.store = WatchedStore(Store.open(self.path, now=NOW))
        self.clock, self.feed, self.directory = FakeClock(), Feed(), Directory()
        self.parent, self.heard = mailbox(self.directory, "parent")
        self.writer, self.told = mailbox(self.directory, "writer")
        self.journal = start(
            Journal,
            "journal",
            directory=self.directory,
            parent=self.parent,
            store=self.store,
            clock=self.clock,
            feed=self.feed,
        )
        self.tokens = 0

    def append(self, *facts, may_wait=True, writer="w", epoch=1) -> int:
        self.tokens += 1
        told = Append(writer=writer, epoch=epoch, facts=facts, to=self.writer, token=self.tokens, may_wait=may_wait)
        assert self.journal.tell(told)
        return self.tokens

    def causes(self) -> list[str]:
        with Reader(self.path) as reader:
            rows = reader.entries(0, 10_000)
        return [text.split('"cause":"')[1].split('"')[0] for *_, text in rows if '"cause":"' in text]

    def committed(self) -> list[int]:
        return [message.token for message in self.told if isinstance(message, FactsCommitted)]

    def hold(self) -> Barrier:
        """Hold the journal in a commit, so that what is told from now on waits together."""
        self.store.barrier = barrier = Barrier()
        self.append(fact("held"))
        assert barrier.entered.wait(120)
        return barrier


def fact(cause: str, number: int = 0) -> JobEnding:
    return JobEnding(job_id=job_id(number), cause=cause)


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    for name in ("journal", "writer", "parent"):
        made.directory.tell(name, Stop("end"))


def test_a_fact_is_told_once_it_can_be_read(bench):
    token = bench.append(JobAccepted(job_id=job_id(), record=record()), JobLaunching(job_id=job_id(), attempt=1))
    (message,) = eventually(lambda: bench.told)
    assert message.token == token
    assert [entry.seq for entry in message.entries] == [1, 2]
    assert bench.feed.wait(0, 5) == 2
    with Reader(bench.path) as reader:
        assert reader.record(job_id())["state"] == "launching"


def test_nothing_is_told_before_the_commit(bench):
    barrier = bench.hold()
    assert bench.told == []
    assert bench.causes() == []
    assert bench.feed.wait(0, 0) == 0
    barrier.leave.set()
    eventually(lambda: bench.told)
    assert bench.causes() == ["held"]


def test_all_that_wait_share_one_commit(bench):
    barrier = bench.hold()
    tokens = [bench.append(fact(f"c{number}")) for number in range(50)]
    barrier.leave.set()
    eventually(lambda: bench.committed()[1:] == tokens)
    assert bench.store.commits == 2


def test_whoever_asks_whether_all_is_settled_hears_so_once_it_can_be_read(bench):
    barrier, port = bench.hold(), ReplyPort()
    bench.append(fact("before"))
    bench.journal.tell(Query(Settle(), port))
    bench.append(fact("behind"))
    assert not port.answered
    barrier.leave.set()
    assert port.wait(60) is True
    assert bench.causes()[:2] == ["held", "before"]


def test_a_batch_is_bounded(bench):
    barrier = bench.hold()
    for number in range(2 * BATCH + 1):
        bench.append(fact(f"c{number}"))
    barrier.leave.set()
    eventually(lambda: len(bench.committed()) == 2 * BATCH + 2)
    assert 3 <= bench.store.commits <= 5


def test_what_is_no_append_does_not_hold_up_a_commit(bench):
    """A probe behind the last append must not leave that append uncommitted until somebody writes again."""
    barrier = bench.hold()
    token = bench.append(fact("before the probe"))
    bench.journal.tell(Probe(1))
    barrier.leave.set()
    eventually(lambda: token in bench.committed())


def test_order_is_kept_across_failures(bench):
    bench.store.fail_commits = [full()]
    first = bench.append(fact("first"))
    eventually(bench.clock.waiting)
    bench.store.fail_appends = [full(), None, None, None]
    later = [bench.append(fact(f"later{number}")) for number in range(3)]
    bench.clock.advance(0.5)
    eventually(bench.clock.waiting)
    assert bench.committed() == []
    bench.clock.advance(1.0)
    eventually(lambda: len(bench.committed()) == 4)
    assert bench.committed() == [first, *later]
    assert bench.causes() == ["first", "later0", "later1", "later2"]


def test_a_failure_in_the_middle_of_a_retry_does_not_let_later_ones_pass(bench):
    bench.store.fail_commits = [full()]
    bench.append(fact("a"))
    eventually(bench.clock.waiting)
    for name in "bcd":
        bench.append(fact(name))
    bench.store.fail_appends = [None, full(), None, None]
    bench.clock.advance(0.5)
    eventually(bench.clock.waiting)
    bench.clock.advance(1.0)
    eventually(lambda: len(bench.committed()) == 4)
    assert bench.causes() == ["a", "b", "c", "d"]


def test_a_disk_that_stays_full_is_tried_later_and_later_with_one_timer(bench):
    bench.store.fail_commits = [full() for _ in range(6)]
    bench.append(fact("patient"))
    pauses = []
    for _ in range(6):
        eventually(bench.clock.waiting)
        assert len(bench.clock.waiting()) == 1
        bench.append(fact("refused"), may_wait=False)
        pauses.append(len(bench.told))
        bench.clock.advance(30.0)
    eventually(lambda: "patient" in bench.causes())


def test_that_nothing_can_be_recorded_is_said_for_as_long_as_that_is_so(bench):
    bench.store.fail_commits = [full()]
    bench.append(fact("held"))
    eventually(bench.clock.waiting)
    assert "no space" in bench.feed.trouble
    bench.clock.advance(0.5)
    eventually(bench.committed)
    assert bench.feed.trouble is None


def test_what_must_not_wait_is_refused(bench):
    bench.store.fail_commits = [full()]
    token = bench.append(fact("now or never"), may_wait=False)
    (message,) = eventually(lambda: bench.told)
    assert isinstance(message, FactsRefused)
    assert (message.token, message.refusal.code) == (token, RefusalCode.STATE_FULL)
    assert bench.clock.waiting() == []
    assert bench.feed.trouble is None, "nothing that happened is unrecorded"
    bench.append(fact("works again"), may_wait=False)
    eventually(bench.committed)
    assert bench.causes() == ["works again"]


def test_one_failed_append_loses_none_of_its_batch(bench):
    barrier = bench.hold()
    tokens = [bench.append(fact("x")), bench.append(fact("y")), bench.append(fact("z"), may_wait=False)]
    bench.store.fail_appends = [None, full()]
    barrier.leave.set()
    eventually(bench.clock.waiting)
    bench.clock.advance(0.5)
    eventually(lambda: set(bench.committed()) >= set(tokens[:2]))
    assert [cause for cause in bench.causes() if cause in "xy"] == ["x", "y"]


def test_a_late_waker_can_not_write(bench):
    bench.append(fact("old"), epoch=1)
    bench.append(fact("new"), epoch=2)
    late = bench.append(fact("late"), epoch=1)
    bench.append(fact("other"), writer="other", epoch=1)
    eventually(lambda: len(bench.committed()) == 3)
    assert late not in bench.committed()
    assert bench.causes() == ["old", "new", "other"]


def test_a_damaged_store_is_a_crash(bench):
    bench.store.fail_commits = [DamagedStore(message="damaged")]
    bench.append(fact("x"))
    assert bench.journal.wait_down(30)
    assert "damaged" in eventually(lambda: bench.heard)[0].error


def test_a_crash_with_something_in_hand_does_not_lock_the_next_one_out(bench):
    barrier = bench.hold()
    lost = bench.append(fact("lost"))
    bench.journal.tell(object())  # it waits behind the other, so that one is not committed yet
    barrier.leave.set()
    assert bench.journal.wait_down(30)
    following = Store.open(bench.path, now=NOW)
    following.append((fact("next"),), NOW)
    following.commit()
    following.close()
    assert bench.causes() == ["held", "next"]
    assert lost not in bench.committed()


def test_one_that_is_set_aside_with_something_in_hand_does_not_lock_the_next_one_out(bench):
    barrier = bench.store.within_append = Barrier()
    bench.append(fact("lost"))
    barrier.entered.wait(120)
    bench.journal.set_aside()
    barrier.leave.set()
    eventually(lambda: bench.store.closed)
    following = Store.open(bench.path, now=NOW)
    following.append((fact("next"),), NOW)
    following.commit()
    following.close()
    assert bench.causes() == ["next"]
    assert bench.committed() == []


def test_an_ordered_stop_writes_what_is_in_hand_and_closes(bench):
    barrier = bench.hold()
    bench.append(fact("last"))
    bench.journal.tell(Stop("shutdown"))
    barrier.leave.set()
    assert bench.journal.wait_down(30)
    assert bench.store.closed
    assert bench.causes() == ["held", "last"]


@pytest.mark.parametrize("healed", [True, False])
def test_an_ordered_stop_tries_held_ones_once_more_and_no_more(bench, healed):
    bench.store.fail_commits = [full()] if healed else [full()] * 10
    bench.append(fact("one"))
    eventually(bench.clock.waiting)
    bench.append(fact("two"))
    bench.journal.tell(Stop("shutdown"))
    assert bench.journal.wait_down(30)
    assert bench.store.closed
    assert bench.causes() == (["one", "two"] if healed else [])
