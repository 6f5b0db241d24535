"""A request that was handed over and has no answer yet is not handed over again under the same id."""

import threading

import pytest
from fakes.actors import Barrier, eventually
from outsourcerer.actors.base import Actor, Directory, start
from outsourcerer.actors.in_flight import Flights
from outsourcerer.actors.journal import Settle
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.state.errors import StateError

BUSY = Refused(code=RefusalCode.SUPERVISOR_BUSY, message="no answer yet")
FULL = Refused(code=RefusalCode.STATE_FULL, message="nothing was done")


class Taker(Actor):
    def receive(self, message: object) -> None:
        if isinstance(message, Barrier):
            message()
        if isinstance(message, Settle):
            self.reply(True)


@pytest.fixture
def directory():
    made = Directory()
    start(Taker, "jobs", directory=made)
    start(Taker, "journal", directory=made)
    return made


def late(flight):
    return flight.port.wait(0.0)


def fail():
    raise OSError("full")


def never(flight):
    raise AssertionError("it was taken a second time")


def test_one_without_an_answer_is_not_taken_again(directory):
    flights = Flights(directory)
    assert flights.once("a", lambda: None, late).code is RefusalCode.SUPERVISOR_BUSY
    again = flights.once("a", lambda: None, never)
    assert (again.code, flights.waiting()) == (RefusalCode.SUPERVISOR_BUSY, 1)
    assert flights.once("b", lambda: None, lambda _: "b") == "b"
    assert flights.once("a", lambda: "journalled", never) == "journalled"


@pytest.mark.parametrize("answer", ["taken", FULL, BUSY])
def test_one_that_is_answered_late_is_over_unless_the_answer_says_that_nobody_knows(directory, answer):
    flights, given, undone = Flights(directory), [], []

    def take(flight):
        given.append(flight)
        flight.undo = lambda: undone.append("undone")
        return late(flight)

    assert flights.once("a", lambda: None, take).code is RefusalCode.SUPERVISOR_BUSY
    assert flights.waiting() == 1
    given[0].port.set(answer)
    assert flights.waiting() == (answer is BUSY)
    assert undone == (["undone"] if answer is FULL else [])
    again = flights.once("a", lambda: None, lambda _: "again")
    assert again == "again" if answer is not BUSY else again.code is RefusalCode.SUPERVISOR_BUSY


def test_what_cannot_be_undone_keeps_nobody_waiting(directory):
    flights = Flights(directory)

    def take(flight):
        flight.undo = stuck
        found = late(flight)
        flight.port.set(FULL)
        return found

    def stuck():
        raise StateError("state_unavailable", "it can't be removed")

    flights.once("a", lambda: None, take)
    assert flights.once("a", lambda: None, lambda _: "again") == "again"


@pytest.mark.parametrize("answer", ["taken", FULL])
def test_one_that_was_answered_is_over(directory, answer):
    flights = Flights(directory)
    assert flights.once("a", lambda: None, lambda _: answer) == answer
    assert not flights.waiting()
    assert flights.once("a", lambda: None, lambda _: "again") == "again"


def test_one_that_failed_is_over(directory):
    flights = Flights(directory)
    with pytest.raises(OSError, match="full"):
        flights.once("a", lambda: None, lambda _: fail())
    assert flights.once("a", lambda: None, lambda _: "again") == "again"


def test_two_at_the_same_time_are_one(directory):
    flights, inside, leave, answers = Flights(directory), threading.Event(), threading.Event(), []

    def take(flight):
        inside.set()
        leave.wait(30)
        return "taken"

    first = threading.Thread(target=lambda: answers.append(flights.once("a", lambda: None, take)))
    first.start()
    assert inside.wait(30)
    assert flights.once("a", lambda: None, never).code is RefusalCode.SUPERVISOR_BUSY
    leave.set()
    first.join(30)
    assert answers == ["taken"]


def test_what_was_handed_to_one_that_is_gone_may_be_asked_for_again_once_nothing_waits_to_be_written(directory):
    flights, hold = Flights(directory), Barrier()
    assert flights.once("a", lambda: None, late).code is RefusalCode.SUPERVISOR_BUSY
    journal = directory.find("journal")
    journal.tell(hold)
    assert hold.entered.wait(30)
    journal.tell("what it appended")
    directory.find("jobs").tell(SystemExit())
    directory.find("jobs").set_aside()
    start(Taker, "jobs", directory=directory)
    assert flights.once("a", lambda: None, never).code is RefusalCode.SUPERVISOR_BUSY
    hold.leave.set()
    for _ in range(30_000):
        if not journal.waiting:
            break
        threading.Event().wait(0.001)
    assert flights.once("a", lambda: None, lambda _: "again") == "again"


def test_without_a_journal_nobody_knows(directory):
    flights = Flights(directory)
    assert flights.once("a", lambda: None, late).code is RefusalCode.SUPERVISOR_BUSY
    directory.drop(directory.find("journal"))
    assert flights.once("a", lambda: None, never).code is RefusalCode.SUPERVISOR_BUSY


def gone(directory):
    """Jobs leave without a word; a successor comes."""
    directory.find("jobs").set_aside()
    start(Taker, "jobs", directory=directory)


@pytest.mark.parametrize("journalled", [True, False])
def test_what_was_handed_to_one_that_is_gone_is_undone_unless_the_store_has_it(directory, journalled):
    flights, undone, hold = Flights(directory), [], Barrier()

    def take(flight):
        flight.undo = lambda: undone.append("undone")
        flight.taken = lambda: journalled
        return late(flight)

    flights.once("a", lambda: None, take)
    directory.find("journal").tell(hold)
    assert hold.entered.wait(30)
    gone(directory)
    assert flights.once("a", lambda: None, never).code is RefusalCode.SUPERVISOR_BUSY
    assert (flights.waiting(), undone) == (1, []), "it may be what the writer has in hand"
    hold.leave.set()
    eventually(lambda: not flights.waiting())
    assert undone == ([] if journalled else ["undone"])


def test_a_writer_that_left_does_not_settle_it(directory):
    flights, undone, hold = Flights(directory), [], Barrier()

    def take(flight):
        flight.undo = lambda: undone.append("undone")
        flight.taken = lambda: False
        return late(flight)

    flights.once("a", lambda: None, take)
    journal = directory.find("journal")
    journal.tell(hold)
    assert hold.entered.wait(30)
    gone(directory)
    assert flights.waiting() == 1
    journal.set_aside()
    hold.leave.set()
    start(Taker, "journal", directory=directory)
    eventually(lambda: not flights.waiting())
    assert undone == ["undone"]
