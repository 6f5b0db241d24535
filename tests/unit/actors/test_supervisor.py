"""Who is started, restarted, bounded and given up: with a clock that only tests move."""

import random
import threading
from dataclasses import replace

import pytest
from fakes.actors import Barrier, eventually, mailbox
from fakes.clock import FakeClock
from outsourcerer.actors.base import Actor, ChildDown, Directory, Query, ReplyPort, Stop, ask, start
from outsourcerer.actors.supervisor import ChildSpec, Restart, Strategy, Supervisor
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.state.restart_budget import RestartBudget


class Child(Actor):
    def __init__(self, *, diary: list, **common) -> None:
        super().__init__(**common)
        self.diary = diary
        self.deaf = False

    def started(self) -> None:
        self.diary.append(("start", self.name, self.incarnation))

    def receive(self, message: object) -> None:
        match message:
            case BaseException():
                raise message
            case Barrier():
                message()
            case "finish":
                self.finished()
            case "be deaf":
                self.deaf = True
            case "echo":
                self.reply(self.incarnation)
            case _:
                self.diary.append(("heard", self.name, message))

    def stopping(self, reason: str) -> None:
        self.diary.append(("stop", self.name, reason))
        if not self.deaf:
            self.finished()


class Watched(Supervisor):
    """A supervisor that writes down what it decides."""

    def __init__(self, *, diary: list, **common) -> None:
        super().__init__(**common)
        self.diary = diary

    def child_ended(self, name, error, *, restarted):
        self.diary.append(("ended", name, error, restarted))

    def receive_own(self, message: object) -> None:
        match message:
            case BaseException():
                raise message
            case "children":
                self.reply(self.children())
            case ChildSpec():
                self.add(message)
            case _:
                self.diary.append(("own", message))


class Tree:
    """A supervisor under test, its parent's ears and its diary."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.directory = Directory()
        self.diary: list = []
        self.parent, self.heard = mailbox(self.directory, "parent")
        self.failing: dict[str, int] = {}

    def spec(self, name: str, **terms) -> ChildSpec:
        def begin(parent, incarnation):
            if self.failing.get(name, 0) > 0:
                self.failing[name] -= 1
                raise OSError(f"no {name} today")
            return start(
                Child, name, directory=self.directory, parent=parent, incarnation=incarnation, diary=self.diary
            )

        return ChildSpec(id=name, start=begin, **terms)

    def run(self, *specs: ChildSpec, strategy=Strategy.ONE_FOR_ONE, budget=None) -> "Tree":
        self.top = start(
            Watched,
            "top",
            directory=self.directory,
            parent=self.parent,
            clock=self.clock,
            specs=specs,
            strategy=strategy,
            budget=budget or RestartBudget(50, 60.0),
            diary=self.diary,
        )
        assert ask(self.top, "children", 10) is not None
        return self

    def settle(self) -> None:
        """Wait until the supervisor and every child have nothing left to handle."""
        for _ in range(3):
            for name in ["top", *[n for n in self.directory.waiting() if n not in ("top", "parent")]]:
                handle = self.directory.find(name)
                if handle is not None and handle.alive:
                    ask(handle, "echo" if name != "top" else "children", 2)

    def crash(self, name: str, error=None) -> None:
        handle = self.directory.find(name)
        handle.tell(error or ValueError("boom"))
        assert handle.wait_down(30)
        self.settle()

    def incarnation(self, name: str):
        handle = self.directory.find(name)
        return None if handle is None or not handle.alive else ask(handle, "echo", 30)

    def back(self, name: str, incarnation: int, step: float = 0.05) -> None:
        """Let time pass until a child stands again."""
        for _ in range(400):
            if self.incarnation(name) == incarnation:
                return
            self.clock.advance(step)
            self.settle()
        raise AssertionError(f"{name} does not come back as {incarnation}: {self.diary}")

    def only(self, *kinds: str) -> list:
        return [entry for entry in self.diary if entry[0] in kinds]


@pytest.fixture
def tree():
    made = Tree()
    yield made
    for name in ["top", *made.directory.waiting()]:
        made.directory.tell(name, Stop("end"))


# --- restart types


@pytest.mark.parametrize(
    ("restart", "by", "again"),
    [
        (Restart.PERMANENT, "crash", True),
        (Restart.PERMANENT, "finish", True),
        (Restart.TRANSIENT, "crash", True),
        (Restart.TRANSIENT, "finish", False),
        (Restart.TEMPORARY, "crash", False),
        (Restart.TEMPORARY, "finish", False),
    ],
)
def test_restart_types(tree, restart, by, again):
    tree.run(tree.spec("a", restart=restart), tree.spec("b"))
    if by == "crash":
        tree.crash("a")
    else:
        tree.directory.tell("a", "finish")
        eventually(lambda: tree.only("ended"))
    if again:
        tree.back("a", 2)
    else:
        tree.clock.advance(60)
        tree.settle()
        assert ask(tree.top, "children", 30) == ["b"]
    error = "ValueError: boom" if by == "crash" else "stopped" if again else None
    assert tree.only("ended") == [("ended", "a", error, again)]
    assert tree.incarnation("b") == 1


def test_one_for_one_leaves_the_others_alone(tree):
    tree.run(tree.spec("a"), tree.spec("b"), tree.spec("c"))
    tree.crash("b")
    tree.back("b", 2)
    assert [tree.incarnation(name) for name in "abc"] == [1, 2, 1]
    assert tree.only("stop") == []


def test_rest_for_one_stops_later_ones_in_reverse_and_starts_all_in_order(tree):
    tree.run(*map(tree.spec, "abcd"), strategy=Strategy.REST_FOR_ONE)
    tree.diary.clear()
    tree.crash("b")
    tree.back("d", 2)
    assert tree.only("stop", "start") == [
        ("stop", "d", "restart"),
        ("stop", "c", "restart"),
        ("start", "b", 2),
        ("start", "c", 2),
        ("start", "d", 2),
    ]
    assert tree.incarnation("a") == 1


def test_rest_for_one_waits_its_back_off_too(tree):
    tree.run(tree.spec("a"), tree.spec("b"), strategy=Strategy.REST_FOR_ONE)
    tree.crash("a")
    tree.back("a", 2)
    tree.crash("a")
    tree.clock.advance(0.04)
    tree.settle()
    assert tree.incarnation("a") is None
    assert tree.incarnation("b") is None
    tree.clock.advance(0.02)
    tree.back("b", 3)
    assert tree.incarnation("a") == 3


def test_a_crash_of_an_earlier_one_during_a_rest_restart_widens_it(tree):
    tree.run(*map(tree.spec, "abc"), strategy=Strategy.REST_FOR_ONE)
    tree.directory.tell("c", "be deaf")
    tree.settle()
    tree.diary.clear()
    tree.crash("b")
    assert tree.only("stop") == [("stop", "c", "restart")]
    tree.crash("a")
    assert tree.only("stop") == [("stop", "c", "restart")], "it is not asked twice"
    tree.clock.advance(5)
    tree.back("c", 2)
    assert tree.only("start") == [("start", "a", 2), ("start", "b", 2), ("start", "c", 2)]


def test_a_crash_of_a_later_one_during_a_rest_restart_is_its_stop(tree):
    tree.run(*map(tree.spec, "abc"), strategy=Strategy.REST_FOR_ONE)
    tree.directory.tell("c", "be deaf")
    tree.settle()
    tree.crash("a")
    tree.crash("c")
    tree.back("c", 2)
    assert [tree.incarnation(name) for name in "abc"] == [2, 2, 2]
    assert [entry[1] for entry in tree.only("ended")] == ["a"], "it was being stopped anyway"


def test_a_later_one_that_will_not_stop_for_a_rest_restart_is_set_aside(tree):
    tree.run(tree.spec("a"), tree.spec("b", shutdown_s=2.0), strategy=Strategy.REST_FOR_ONE)
    tree.directory.tell("b", "be deaf")
    tree.settle()
    old = tree.directory.find("b")
    tree.crash("a")
    tree.clock.advance(1.9)
    tree.settle()
    assert old.alive
    tree.clock.advance(0.2)
    tree.back("b", 2)
    assert not old.alive


# --- starting


def test_a_failed_start_counts_and_is_tried_again(tree):
    tree.failing["a"] = 2
    tree.run(tree.spec("a"), tree.spec("b"))
    assert tree.incarnation("b") == 1
    tree.back("a", 3)
    assert [entry[2:] for entry in tree.only("ended")] == [("failed to start: no a today", True)] * 2


def test_where_order_means_something_a_failed_start_holds_later_ones_back(tree):
    tree.failing["a"] = 1
    tree.run(tree.spec("a"), tree.spec("b"), strategy=Strategy.REST_FOR_ONE)
    tree.back("b", 1)
    assert tree.only("start") == [("start", "a", 2), ("start", "b", 1)]


def test_a_child_that_can_never_start_takes_the_supervisor_down(tree):
    tree.failing["a"] = 10**6
    tree.run(tree.spec("a", budget=RestartBudget(3, 30.0)), tree.spec("b"))
    for _ in range(50):
        tree.clock.advance(0.1)
        tree.settle()
    assert tree.top.wait_down(30)
    assert tree.only("stop") == [("stop", "b", "restart")]
    assert "gave up on a" in eventually(lambda: tree.heard)[0].error


# --- intensity


def test_out_of_its_own_budget_a_child_is_given_up_and_the_children_are_stopped_first(tree):
    tree.run(tree.spec("a"), tree.spec("b", budget=RestartBudget(2, 30.0)), tree.spec("c"))
    tree.crash("b")
    tree.back("b", 2)
    tree.crash("b")
    tree.back("b", 3)
    tree.crash("b", ValueError("the third"))
    assert tree.top.wait_down(30)
    assert sorted(tree.only("stop")) == [("stop", "a", "restart"), ("stop", "c", "restart")]
    down = eventually(lambda: tree.heard)
    assert down == [ChildDown("top", 1, "GaveUp: gave up on b: ValueError: the third")]
    assert tree.only("ended")[-1] == ("ended", "b", "ValueError: the third", False)


def test_crashes_that_are_far_apart_are_forgiven(tree):
    tree.run(tree.spec("a", budget=RestartBudget(2, 30.0)))
    for number in range(2, 8):
        tree.crash("a")
        tree.back("a", number)
        tree.clock.advance(31)
        tree.settle()
    assert tree.top.alive


def test_the_supervisors_own_budget_bounds_all_together(tree):
    tree.run(*map(tree.spec, "abcdef"), budget=RestartBudget(4, 60.0))
    for name in "abcd":
        tree.crash(name)
        tree.back(name, 2)
    tree.directory.find("e").tell(ValueError("one too many"))
    assert tree.top.wait_down(30)
    assert "too many crashes in top" in eventually(lambda: tree.heard)[0].error
    assert {entry[1] for entry in tree.only("stop")} == set("abcdf")


def test_each_restart_waits_longer(tree):
    tree.run(tree.spec("a", budget=RestartBudget(9, 60.0)))
    waits = []
    for number in range(2, 7):
        tree.crash("a")
        before = tree.clock.now().mono
        tree.back("a", number, step=0.01)
        waits.append(round(tree.clock.now().mono - before, 2))
    assert waits == sorted(waits)
    assert waits[-1] == pytest.approx(0.4, abs=0.02)


# --- stopping


def test_where_order_means_something_the_stop_is_one_by_one_in_reverse(tree):
    tree.run(*map(tree.spec, "abc"), strategy=Strategy.REST_FOR_ONE)
    tree.directory.tell("c", "be deaf")
    tree.settle()
    tree.top.tell(Stop("shutdown"))
    eventually(lambda: tree.only("stop"))
    tree.settle()
    assert tree.only("stop") == [("stop", "c", "shutdown")], "b waits until c is down"
    tree.clock.advance(5.0)
    assert tree.top.wait_down(30)
    assert tree.only("stop") == [("stop", "c", "shutdown"), ("stop", "b", "shutdown"), ("stop", "a", "shutdown")]
    assert eventually(lambda: tree.heard) == [ChildDown("top", 1, None)]


def test_where_it_means_nothing_all_are_stopped_at_once_and_the_deadline_holds(tree):
    tree.run(*[tree.spec(name, shutdown_s=3.0) for name in "abc"])
    for name in "abc":
        tree.directory.tell(name, "be deaf")
    tree.settle()
    tree.top.tell(Stop("cancel"))
    eventually(lambda: len(tree.only("stop")) == 3)
    assert tree.top.alive
    tree.clock.advance(3.0)
    assert tree.top.wait_down(30)
    assert tree.only("ended") == []


def test_a_supervisor_that_stops_starts_nobody(tree):
    tree.run(tree.spec("a"), tree.spec("b"))
    tree.directory.tell("a", "be deaf")
    tree.settle()
    tree.crash("b")
    tree.top.tell(Stop("shutdown"))
    tree.top.tell(tree.spec("late"))
    tree.settle()
    tree.clock.advance(5)
    assert tree.top.wait_down(30)
    assert tree.incarnation("b") is None
    assert ("start", "late", 1) not in tree.diary


def test_who_asks_a_supervisor_that_stops_is_told_that_nothing_was_done(tree):
    """It would be begun, and the supervisor gone before it is over: nobody would know what became of it."""
    tree.run(tree.spec("a", shutdown_s=4.0))
    tree.directory.tell("a", "be deaf")
    tree.settle()
    tree.top.tell(Stop("restart"))
    assert ask(tree.top, "children", 30).code is RefusalCode.STOPPING
    tree.top.tell("not a question")
    tree.clock.advance(4.0)
    assert tree.top.wait_down(30)
    assert tree.only("own") == [("own", "not a question")], "what needs no answer is still heard"


def test_a_crashed_supervisor_refuses_what_is_its_own_and_goes_down_once_its_children_are(tree):
    tree.run(tree.spec("a", shutdown_s=4.0))
    tree.directory.tell("a", "be deaf")
    tree.settle()
    tree.top.tell(ValueError("mine"))
    port = ReplyPort()
    tree.top.tell(Query("children", port))
    assert port.wait(30).code is RefusalCode.STOPPING
    tree.top.tell(tree.spec("late"))
    tree.clock.advance(4.0)
    assert tree.top.wait_down(30)
    assert eventually(lambda: tree.heard) == [ChildDown("top", 1, "ValueError: mine")]
    assert ("start", "late", 1) not in tree.diary


def test_a_crash_while_stopping_still_stops_the_children(tree):
    tree.run(tree.spec("a"), tree.spec("b"))
    tree.directory.tell("a", "be deaf")
    tree.settle()
    tree.top.tell(Stop("shutdown"))
    tree.top.tell(ValueError("on the way"))
    eventually(lambda: len(tree.only("stop")) == 2)
    tree.clock.advance(5)
    assert tree.top.wait_down(30)
    assert eventually(lambda: tree.heard)[0].error == "ValueError: on the way"


# --- stalls


def stall(tree, name: str) -> Barrier:
    barrier = Barrier()
    tree.directory.tell(name, barrier)
    assert barrier.entered.wait(30)
    return barrier


def probe_rounds(tree, count: int, *, stuck: str) -> None:
    """Let probes come and be answered by all but one child."""
    for _ in range(count):
        tree.clock.advance(30.0)
        for name in ask(tree.top, "children", 30):
            if name != stuck:
                ask(tree.directory.find(name), "echo", 30)
        ask(tree.top, "children", 30)


def test_a_stalled_child_is_set_aside_and_replaced_and_its_late_words_are_ignored(tree):
    tree.run(tree.spec("a", stall_s=30.0), tree.spec("b"))
    old = tree.directory.find("a")
    barrier = stall(tree, "a")
    probe_rounds(tree, 1, stuck="a")
    assert old.alive
    probe_rounds(tree, 1, stuck="a")
    assert not old.alive
    tree.back("a", 2)
    assert tree.only("ended") == [("ended", "a", "stalled for 30 s", True)]
    tree.top.tell(ChildDown("a", 1, "I wake late"))
    tree.settle()
    barrier.leave.set()
    tree.settle()
    assert len(tree.only("ended")) == 1
    assert tree.incarnation("a") == 2
    assert tree.incarnation("b") == 1


def test_late_words_before_the_replacement_are_not_charged_twice(tree):
    tree.run(tree.spec("a", budget=RestartBudget(2, 300.0)))
    tree.crash("a")
    tree.back("a", 2)
    barrier = stall(tree, "a")
    probe_rounds(tree, 2, stuck="a")
    for _ in range(5):
        tree.top.tell(ChildDown("a", 2, "again and again"))
    barrier.leave.set()
    tree.back("a", 3)
    assert tree.top.alive


def test_who_answers_is_not_stalled_and_who_is_never_probed_neither(tree):
    tree.run(tree.spec("a"), tree.spec("b", stall_s=None))
    barrier = stall(tree, "b")
    for _ in range(10):
        probe_rounds(tree, 1, stuck="b")
        assert ask(tree.directory.find("a"), "echo", 30)
    assert tree.directory.find("b").alive
    assert tree.incarnation("a") == 1
    barrier.leave.set()


def test_a_pause_of_everything_is_nobodys_stall(tree):
    """The laptop slept, the whole process was stopped: the clock jumps, and the probe could not be answered."""
    tree.run(tree.spec("a", stall_s=30.0))
    barrier = stall(tree, "a")
    probe_rounds(tree, 1, stuck="a")
    tree.clock.advance(29.0)
    with tree.clock._lock:
        tree.clock._now = replace(tree.clock._now, mono=tree.clock._now.mono + 9 * 3600)
    tree.clock.advance(2.0)
    ask(tree.top, "children", 30)
    assert tree.directory.find("a").alive
    barrier.leave.set()
    for _ in range(3):
        assert tree.incarnation("a") == 1
        probe_rounds(tree, 1, stuck="")


# --- a storm


@pytest.mark.parametrize("allowed", [True, False], ids=["within bounds", "beyond"])
def test_three_hundred_children_in_a_storm(tree, allowed):
    names = [f"c{number}" for number in range(300)]
    most = 10_000 if allowed else 200
    tree.run(*[tree.spec(name, budget=RestartBudget(50, 60.0)) for name in names], budget=RestartBudget(most, 1e6))
    chance = random.Random(11)
    stop = threading.Event()

    def load() -> None:
        while not stop.is_set():
            tree.directory.tell(chance.choice(names), "load")
            stop.wait(0.0005)

    loader = threading.Thread(target=load, daemon=True)
    loader.start()
    for _ in range(10):
        for name in chance.sample(names, 60):
            tree.directory.tell(name, ValueError("storm"))
        tree.clock.advance(10.0)
        if not tree.top.alive:
            break
        ask(tree.top, "children", 10)
    stop.set()
    loader.join(30)
    if allowed:
        for _ in range(100):
            tree.clock.advance(10.0)
            ask(tree.top, "children", 10)
            # one that is alive may have its crash still before it: the echo comes after that
            lives = [ask(tree.directory.find(name), "echo", 30) for name in names]
            if not any(isinstance(life, Refused) for life in lives):
                break
        assert sum(lives) - len(lives) == len(tree.only("ended")) > 300
    else:
        eventually(lambda: not tree.top.alive)
        assert tree.top.wait_down(30)
        assert "too many crashes" in eventually(lambda: tree.heard)[0].error
        assert not any(h is not None and h.alive for h in map(tree.directory.find, names))
