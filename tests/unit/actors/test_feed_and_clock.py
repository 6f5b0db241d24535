"""The bell of commits, and timers in their order."""

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from fakes.actors import eventually, mailbox
from fakes.clock import FakeClock
from outsourcerer.actors import clock as clock_module
from outsourcerer.actors.base import Directory, Stop
from outsourcerer.actors.clock import SystemClock
from outsourcerer.actors.feed import Feed


def test_a_follower_wakes_at_news_only():
    feed = Feed(5)
    assert feed.wait(4, 5) == 5
    assert feed.wait(5, 0.01) == 5
    seen = []
    follower = threading.Thread(target=lambda: seen.append(feed.wait(5, 30)))
    follower.start()
    feed.publish(4)
    assert not seen
    feed.publish(9)
    follower.join(120)
    assert seen == [9]
    feed.publish(7)
    assert feed.wait(0, 0) == 9, "it never goes back"


def test_a_closed_feed_wakes_everyone_at_once():
    feed = Feed()
    threads = [threading.Thread(target=feed.wait, args=(0, None)) for _ in range(5)]
    for thread in threads:
        thread.start()
    feed.close()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert feed.closed
    assert feed.wait(0, None) == 0


@pytest.fixture
def clock():
    made = SystemClock()
    yield made
    made.close()


@pytest.fixture
def box():
    directory = Directory()
    handle, got = mailbox(directory)
    yield handle, got
    handle.tell(Stop("end"))


@contextmanager
def stopped(clock: SystemClock):
    """A moment in which no time passes for it, however long the machine takes."""
    at = time.monotonic()
    with clock._condition, pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock_module, "time", SimpleNamespace(time=time.time, monotonic=lambda: at))
        yield


def test_messages_come_in_the_order_of_their_times(clock, box):
    handle, got = box
    with stopped(clock):
        for delay in (0.15, 0.05, 0.1, 0.0, -1.0):
            clock.later(delay, handle, delay)
    eventually(lambda: len(got) == 5)
    assert got == [0.0, -1.0, 0.05, 0.1, 0.15] or got == [-1.0, 0.0, 0.05, 0.1, 0.15]


def test_forgotten_messages_do_not_come(clock, box):
    handle, got = box
    with stopped(clock):
        tokens = [clock.later(0.05, handle, number) for number in range(10)]
        for token in tokens[::2]:
            clock.forget(token)
        clock.forget(10**9)
        clock.later(0.1, handle, "end")
    eventually(lambda: "end" in got)
    assert got == [1, 3, 5, 7, 9, "end"]


def test_forgotten_messages_take_no_memory(clock, box):
    clock.later(1800, box[0], "far")
    for _ in range(5000):
        clock.forget(clock.later(3600, box[0], "never"))
    assert len(clock._due) == 1
    assert len(clock._heap) < 200


def test_a_closed_clock_tells_nothing_more(box):
    clock = SystemClock()
    clock.later(30, box[0], "late")
    clock.close()
    assert not clock._thread.is_alive()
    assert box[1] == []


def test_a_dead_receiver_harms_nobody(clock, box):
    directory = Directory()
    dead, _ = mailbox(directory, "dead")
    dead.tell(Stop("x"))
    assert dead.wait_down(30)
    clock.later(0.0, dead, "x")
    clock.later(0.01, box[0], "y")
    eventually(lambda: box[1])


def test_the_fake_clock_keeps_the_same_promises(box):
    fake = FakeClock()
    handle, got = box
    fake.later(5, handle, "b")
    forgotten = fake.later(3, handle, "x")
    fake.later(1, handle, "a")
    fake.forget(forgotten)
    assert fake.waiting() == ["a", "b"]
    assert fake.advance(4.9) == 1
    assert fake.advance(0.1) == 1
    eventually(lambda: got == ["a", "b"])
    before = fake.now()
    fake.set_wall(0.0)
    assert (fake.now().mono, fake.now().wall) == (before.mono, 0.0)
