"""Who is started, restarted, bounded and given up: with a clock that only tests move."""

import pytest
from fakes.actors import eventually
from fakes.supervision import Tree
from outsourcerer.actors.base import ChildDown, Query, ReplyPort, Stop, ask
from outsourcerer.actors.supervisor import Restart, Strategy
from outsourcerer.messages.refusals import RefusalCode
from outsourcerer.state.restart_budget import RestartBudget


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
    assert [entry[2:] for entry in tree.only("ended")] == [("failed to start: OSError: no a today", True)] * 2


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
    assert port.wait(120).code is RefusalCode.STOPPING
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
