"""One crash rule: told, asked, starting or stopping, whatever is raised. And nobody who asked waits for nothing."""

import importlib
import threading
import time
from types import FunctionType

import pytest
from fakes.actors import Barrier, eventually, mailbox
from outsourcerer.actors.base import (
    Actor,
    ChildDown,
    Directory,
    Handle,
    Probe,
    ProbeAnswered,
    Query,
    ReplyPort,
    Stop,
    ask,
    start,
)
from outsourcerer.messages.refusals import RefusalCode, Refused

RAISED = [ValueError("no"), SystemExit(3), KeyboardInterrupt(), RecursionError(), AssertionError("x")]


class Worker(Actor):
    def __init__(self, *, log: list, raising: BaseException | None = None, **common) -> None:
        super().__init__(**common)
        self.log = log
        self.raising = raising
        self.kept: list[ReplyPort] = []

    def started(self) -> None:
        self.log.append(threading.current_thread())
        if self.raising is not None:
            raise self.raising

    def receive(self, message: object) -> None:
        match message:
            case BaseException():
                raise message
            case "echo":
                self.reply("echo")
            case "keep":
                self.kept.append(self.query.port)
            case "answer":
                for port in self.kept:
                    port.set("late")
            case "twice":
                self.reply(1)
                self.reply(2)
            case Barrier():
                message()
            case "finish":
                self.finished()
            case str():
                self.log.append(message)
            case _:
                super().receive(message)

    def stopping(self, reason: str) -> None:
        self.log.append(("stopping", reason))
        if reason == "raise":
            raise ValueError("in stopping")
        super().stopping(reason)


@pytest.fixture
def tree():
    directory = Directory()
    parent, heard = mailbox(directory, "parent")
    yield directory, parent, heard
    for name in list(directory.waiting()):
        directory.tell(name, Stop("end"))


def worker(tree, raising=None, name="worker") -> tuple[Handle, list]:
    directory, parent, _ = tree
    log: list = []
    return start(Worker, name, directory=directory, parent=parent, log=log, raising=raising), log


@pytest.mark.parametrize("raised", RAISED, ids=lambda e: type(e).__name__)
def test_a_told_message_that_raises_is_a_crash(tree, raised):
    handle, _ = worker(tree)
    other, log = worker(tree, name="other")
    handle.tell(raised)
    assert handle.wait_down(30)
    eventually(lambda: tree[2])
    down = tree[2][0]
    assert isinstance(down, ChildDown)
    assert (down.child, down.incarnation) == ("worker", 1)
    assert down.error.startswith(type(raised).__name__)
    assert not handle.alive
    assert ask(other, "echo", 30) == "echo", "SystemExit of one must not stop the others"
    assert log


@pytest.mark.parametrize("raised", RAISED, ids=lambda e: type(e).__name__)
def test_an_asked_message_that_raises_is_the_same_crash(tree, raised):
    handle, _ = worker(tree)
    answer = ask(handle, raised, 30)
    assert isinstance(answer, Refused)
    assert answer.code is RefusalCode.SUPERVISOR_BUSY, "it may have been done"
    assert handle.wait_down(30)
    assert eventually(lambda: tree[2])[0].error.startswith(type(raised).__name__)


@pytest.mark.parametrize("raised", RAISED, ids=lambda e: type(e).__name__)
def test_a_start_that_raises_is_a_crash(tree, raised):
    handle, _ = worker(tree, raised)
    assert handle.wait_down(30)
    assert eventually(lambda: tree[2])[0].error.startswith(type(raised).__name__)


def test_an_exception_while_stopping_is_a_crash(tree):
    handle, log = worker(tree)
    handle.tell(Stop("raise"))
    assert handle.wait_down(30)
    assert eventually(lambda: tree[2])[0].error == "ValueError: in stopping"
    assert ("stopping", "raise") in log


def test_an_ordered_stop_is_no_crash(tree):
    handle, log = worker(tree)
    handle.tell(Stop("because"))
    assert handle.wait_down(30)
    assert eventually(lambda: tree[2]) == [ChildDown("worker", 1, None)]
    assert ("stopping", "because") in log


def test_an_actor_that_ends_itself_is_no_crash(tree):
    handle, _ = worker(tree)
    handle.tell("finish")
    assert handle.wait_down(30)
    assert eventually(lambda: tree[2]) == [ChildDown("worker", 1, None)]


def test_an_unknown_message_is_a_crash(tree):
    handle, _ = worker(tree)
    handle.tell(object())
    assert handle.wait_down(30)


def test_a_constructor_that_raises_raises_in_start(tree):
    with pytest.raises(TypeError):
        start(Worker, "x", directory=tree[0], parent=tree[1])
    assert tree[0].find("x") is None


def queries(handle: Handle, *bodies) -> list[ReplyPort]:
    ports = [ReplyPort() for _ in bodies]
    for body, port in zip(bodies, ports, strict=True):
        assert handle.tell(Query(body, port))
    return ports


@pytest.mark.parametrize("end", [ValueError("crash"), "finish"], ids=["crash", "stop"])
def test_queries_that_wait_are_refused_at_the_end(tree, end):
    handle, _ = worker(tree)
    barrier = Barrier()
    handle.tell(barrier)
    barrier.entered.wait(120)
    handle.tell(end)
    ports = queries(handle, "echo", "echo")
    barrier.leave.set()
    codes = [port.wait(120).code for port in ports]
    assert codes == [RefusalCode.STOPPING] * 2, "nothing was done"


def test_queries_whose_answer_was_put_off_are_refused_at_the_end(tree):
    handle, _ = worker(tree)
    answered, owed = queries(handle, "keep", "keep")
    handle.tell("answer")
    assert (answered.wait(120), owed.wait(120)) == ("late", "late")
    (late,) = queries(handle, "keep")
    handle.tell(ValueError("crash"))
    assert late.wait(120).code is RefusalCode.SUPERVISOR_BUSY


def test_the_first_answer_counts(tree):
    handle, _ = worker(tree)
    assert ask(handle, "twice", 30) == 1


def test_an_answer_given_is_not_overwritten_by_a_crash():
    port = ReplyPort()
    port.set("given")
    port.set("other")
    assert port.wait(0) == "given"
    assert port.answered


def test_asking_has_a_timeout(tree):
    handle, _ = worker(tree)
    barrier = Barrier()
    handle.tell(barrier)
    answer = ask(handle, "echo", 0.05)
    assert answer.code is RefusalCode.SUPERVISOR_BUSY
    assert "0.05 s" in answer.message
    barrier.leave.set()


def test_asking_a_dead_or_missing_one_is_refused_at_once(tree):
    handle, _ = worker(tree)
    handle.tell(Stop("x"))
    assert handle.wait_down(30)
    eventually(lambda: tree[2])
    before = time.monotonic()
    assert ask(handle, "echo", 60).code is RefusalCode.STOPPING, "nothing was done"
    assert ask(None, "echo", 60).code is RefusalCode.STOPPING
    assert time.monotonic() - before < 30
    assert not handle.tell("x")


def test_nobody_who_asks_while_an_actor_ends_waits_for_ever(tree):
    """The race between the last look into the mailbox and one more message in it."""
    for number in range(60):
        handle, _ = worker(tree, name=f"w{number}")
        answers: list[object] = []

        def hammer(handle=handle, answers=answers):
            while not isinstance(answer := ask(handle, "echo", 20), Refused):
                pass
            answers.append(answer)

        threads = [threading.Thread(target=hammer) for _ in range(3)]
        for thread in threads:
            thread.start()
        handle.tell("finish")
        for thread in threads:
            thread.join(120)
        assert len(answers) == 3
        assert "did not answer" not in answers[0].message


def test_an_actor_set_aside_takes_nothing_more_and_its_thread_ends(tree):
    handle, log = worker(tree)
    barrier = Barrier()
    handle.tell(barrier)
    barrier.entered.wait(120)
    (port,) = queries(handle, "echo")
    handle.tell("late word")
    handle.set_aside()
    assert port.wait(120).code is RefusalCode.STOPPING
    assert not handle.tell("after")
    assert not handle.alive
    barrier.leave.set()
    eventually(lambda: not log[0].is_alive())
    assert "late word" not in log
    assert tree[2] == []


def test_an_idle_actor_set_aside_ends_too(tree):
    handle, log = worker(tree)
    eventually(lambda: log)
    handle.set_aside()
    handle.set_aside()
    eventually(lambda: not log[0].is_alive())


def test_no_actor_takes_the_place_of_a_part_of_the_crash_rule():
    """A method of its own that happens to be called like one of the base class would be run at each crash."""
    assert importlib.import_module("outsourcerer.actors.assembly")
    own = {name for name, value in vars(Actor).items() if isinstance(value, FunctionType) and name.startswith("_")}
    own -= {"__init__", "_guarded"}
    kinds = [Actor]
    for kind in kinds:
        kinds += kind.__subclasses__()
    ours = [kind for kind in kinds if kind.__module__.startswith("outsourcerer.")]
    assert len(ours) > 10
    assert {kind.__name__: own & set(vars(kind)) for kind in ours[1:] if own & set(vars(kind))} == {}


def test_a_probe_is_answered_between_two_messages(tree):
    handle, _ = worker(tree)
    handle.tell(Probe(7))
    assert eventually(lambda: tree[2]) == [ProbeAnswered("worker", 1, 7)]


def test_the_directory_knows_the_newest_bearer_of_a_name(tree):
    directory = tree[0]
    first, _ = worker(tree)
    second = start(Worker, "worker", directory=directory, parent=tree[1], incarnation=2, log=[])
    assert directory.find("worker").same(second)
    directory.drop(first)
    assert directory.find("worker").same(second)
    assert not first.same(second)
    assert directory.tell("worker", "hello")
    assert not directory.tell("nobody", "hello")
    directory.drop(second)
    assert directory.find("worker") is None
    for handle in (first, second):
        handle.tell(Stop("x"))
        assert handle.wait_down(30)


def test_an_actor_can_be_found_from_its_start_on(tree):
    """What it asks others for in ``started`` may be answered by name at once."""
    seen = []

    class Early(Actor):
        def started(self) -> None:
            seen.append(self.directory.find(self.name))

        def receive(self, message: object) -> None:
            seen.append(message)

    handle = start(Early, "early", directory=tree[0], parent=tree[1])
    eventually(lambda: seen)
    assert handle.same(seen[0])
    handle.tell(Stop("x"))
    assert handle.wait_down(30)


def test_waiting_messages_are_counted(tree):
    handle, _ = worker(tree)
    barrier = Barrier()
    handle.tell(barrier)
    barrier.entered.wait(120)
    handle.tell("a")
    handle.tell("b")
    assert handle.waiting == 2
    assert tree[0].waiting()["worker"] == 2
    barrier.leave.set()
