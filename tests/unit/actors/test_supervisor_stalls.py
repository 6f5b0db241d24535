"""Children that do not answer, and three hundred that crash at once: with a clock that only tests move."""

import random
import threading
from dataclasses import replace

import pytest
from fakes.actors import Barrier, eventually
from fakes.supervision import Tree
from outsourcerer.actors.base import ChildDown, Stop, ask
from outsourcerer.messages.refusals import Refused
from outsourcerer.state.restart_budget import RestartBudget


@pytest.fixture
def tree():
    made = Tree()
    yield made
    for name in ["top", *made.directory.waiting()]:
        made.directory.tell(name, Stop("end"))


# --- stalls


def stall(tree, name: str) -> Barrier:
    barrier = Barrier()
    tree.directory.tell(name, barrier)
    assert barrier.entered.wait(120)
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
    loader.join(120)
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
