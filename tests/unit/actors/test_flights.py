"""A request that was handed over and has no answer yet is not handed over again under the same id."""

import threading

import pytest
from fakes.actors import Barrier
from outsourcerer.actors.base import Actor, Directory, start
from outsourcerer.actors.flights import Flights
from outsourcerer.messages.refusals import RefusalCode, Refused

BUSY = Refused(code=RefusalCode.SUPERVISOR_BUSY, message="no answer yet")
FULL = Refused(code=RefusalCode.STATE_FULL, message="nothing was done")


class Taker(Actor):
    def receive(self, message: object) -> None:
        if isinstance(message, Barrier):
            message()


@pytest.fixture
def directory():
    made = Directory()
    start(Taker, "jobs", directory=made)
    start(Taker, "journal", directory=made)
    return made


def never():
    raise AssertionError("it was taken a second time")


def test_one_without_an_answer_is_not_taken_again(directory):
    flights = Flights(directory)
    assert flights.once("a", lambda: None, lambda: BUSY) is BUSY
    again = flights.once("a", lambda: None, never)
    assert (again.code, flights.is_open("a")) == (RefusalCode.SUPERVISOR_BUSY, True)
    assert flights.once("b", lambda: None, lambda: "b") == "b"
    assert flights.once("a", lambda: "journalled", never) == "journalled"


@pytest.mark.parametrize("answer", ["taken", FULL])
def test_one_that_was_answered_is_over(directory, answer):
    flights = Flights(directory)
    assert flights.once("a", lambda: None, lambda: answer) == answer
    assert not flights.is_open("a")
    assert flights.once("a", lambda: None, lambda: "again") == "again"


def test_one_that_failed_is_over(directory):
    flights = Flights(directory)
    with pytest.raises(OSError, match="full"):
        flights.once("a", lambda: None, lambda: (_ for _ in ()).throw(OSError("full")))
    assert flights.once("a", lambda: None, lambda: "again") == "again"


def test_two_at_the_same_time_are_one(directory):
    flights, inside, leave, answers = Flights(directory), threading.Event(), threading.Event(), []

    def take():
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
    assert flights.once("a", lambda: None, lambda: BUSY) is BUSY
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
    assert flights.once("a", lambda: None, lambda: "again") == "again"


def test_without_a_journal_nobody_knows(directory):
    flights = Flights(directory)
    assert flights.once("a", lambda: None, lambda: BUSY) is BUSY
    directory.drop(directory.find("journal"))
    assert flights.once("a", lambda: None, never).code is RefusalCode.SUPERVISOR_BUSY
