"""The watcher: one look at a time, fresh for whoever asks, and nothing while nobody does."""

import threading

import pytest
from fakes.actors import eventually, mailbox
from fakes.clock import FakeClock
from outsourcerer.actors.base import Directory, Query, ReplyPort, ask, start
from outsourcerer.actors.fleet_scan import Snapshot
from outsourcerer.actors.fleet_watcher import EVERY_S, SLOW_S, WATCHED_S, FleetWatcher, LookAtFleet, answer
from outsourcerer.messages.fleet import FleetView, ViewFleet
from outsourcerer.messages.refusals import RefusalCode, Refused

ASK_S = 20.0


class Bench:
    """A watcher whose looks are counted, and held back when a test wants that."""

    def __init__(self):
        self.clock, self.directory, self.stopping = FakeClock(), Directory(), threading.Event()
        self.looks = 0
        self.fault = None
        self.hold = threading.Event()
        self.hold.set()
        parent, _ = mailbox(self.directory, "parent")
        self.watcher = start(
            FleetWatcher, "fleet", directory=self.directory, parent=parent, services=self, look=self.look
        )

    def look(self):
        self.looks += 1
        assert self.hold.wait(ASK_S)
        if self.fault is not None:
            raise self.fault
        return Snapshot(float(self.looks), ({"id": f"pid:{self.looks}"},), ())

    def ask(self, max_age_s=1.0):
        return ask(self.watcher, LookAtFleet(max_age_s), ASK_S)

    def post(self):
        port = ReplyPort()
        self.watcher.tell(Query(LookAtFleet(1.0), port))
        return port


@pytest.fixture
def bench():
    made = Bench()
    yield made
    made.hold.set()


def test_a_fresh_look_serves_and_an_old_one_does_not(bench):
    assert bench.ask().seen_at == 1.0
    assert bench.ask().seen_at == 1.0
    bench.clock.advance(5)
    assert bench.ask(max_age_s=60).seen_at == 1.0
    assert bench.ask().seen_at == 2.0


def test_many_that_ask_share_one_look(bench):
    bench.hold.clear()
    ports = [bench.post() for _ in range(20)]
    bench.hold.set()
    assert {port.wait(ASK_S).seen_at for port in ports} == {1.0}
    assert bench.looks == 1


def test_it_looks_by_itself_for_as_long_as_somebody_cares(bench):
    bench.ask()
    for number in range(2, 4):
        eventually(bench.clock.waiting)
        bench.clock.advance(EVERY_S)
        eventually(lambda number=number: bench.looks == number)
        bench.ask(max_age_s=3600)
    eventually(bench.clock.waiting)
    bench.clock.advance(WATCHED_S + EVERY_S)  # one look is due in it, and by then nobody has asked for long enough
    eventually(lambda: bench.watcher.waiting == 0)
    seen = bench.looks
    bench.clock.advance(10 * WATCHED_S)
    eventually(lambda: bench.watcher.waiting == 0)
    assert bench.looks <= seen + 1


def test_a_look_that_fails_is_said_and_the_next_may_succeed(bench):
    bench.fault = RuntimeError("no")
    refused = bench.ask()
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.INTERNAL
    bench.fault = None
    bench.clock.advance(5)
    assert isinstance(bench.ask(), Snapshot)


def test_a_look_that_hangs_is_not_waited_for_where_there_is_an_earlier_one(bench):
    bench.ask()
    bench.hold.clear()
    bench.clock.advance(5)
    waits = bench.post()
    eventually(lambda: bench.looks == 2)
    bench.clock.advance(SLOW_S + 1)
    told = bench.ask()
    assert (told.seen_at, told.notes) == (
        1.0,
        ("as it was 16 s ago: looking takes long (a folder that does not answer?)",),
    )
    assert not waits.answered
    bench.hold.set()
    assert waits.wait(ASK_S).seen_at == 2.0


def test_it_answers_over_the_socket_as_a_view(bench):
    told = answer(ViewFleet(max_age_s=1.0), bench)
    assert isinstance(told, FleetView)
    assert (told.seen_at, told.sessions) == (1.0, ({"id": "pid:1"},))
    assert FleetView.model_validate(told.model_dump(mode="json")).sessions == told.sessions
