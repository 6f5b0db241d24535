"""Who is out of budget for what befalls the whole machine is started again, and given up in the end."""

import pytest
from fakes.actors import eventually
from fakes.supervision import Tree, Watched
from outsourcerer.actors.base import Stop, ask
from outsourcerer.actors.transient_faults import FORGOTTEN_S, PATIENCE_S, PAUSE_S, TransientFaults
from outsourcerer.state.errors import StateError
from outsourcerer.state.restart_budget import RestartBudget

FULL = "StateError: can't write: the disk is full"


def test_patience_ends():
    faults, now = TransientFaults(), 0.0
    while faults.tolerate("job", FULL, now):
        now += PAUSE_S
        assert now < 2 * PATIENCE_S
    assert now > PATIENCE_S


def test_another_trouble_begins_anew():
    faults = TransientFaults()
    for round_ in range(20):
        assert faults.tolerate("job", FULL, round_ * (FORGOTTEN_S + 1))


@pytest.mark.parametrize(
    "error", ["ValueError: x", "TypeError: StateError: x", "failed to start: LookupError: gone", ""]
)
def test_a_fault_of_its_own_is_not_tolerated(error):
    assert not TransientFaults().tolerate("job", error, 0.0)


@pytest.mark.parametrize("error", [FULL, "failed to start: " + FULL, "OSError: [Errno 24] Too many open files"])
def test_what_befalls_the_machine_is_one(error):
    assert TransientFaults().tolerate("job", error, 0.0)


def test_one_that_crashes_on_after_that_is_not_tolerated_again_until_it_stood_for_a_while():
    faults, over = TransientFaults(patience_s=10.0), 11.0
    assert faults.tolerate("job", FULL, 0.0)
    for now in range(11, 400, 100):
        assert not faults.tolerate("job", FULL, float(now))
        over = now
    assert faults.tolerate("job", FULL, over + FORGOTTEN_S + 1)
    assert list(faults._troubles) == ["job"]
    assert not faults.tolerate("another", "ValueError: own", over + 3 * FORGOTTEN_S)
    assert not faults._troubles, "what is forgotten takes no memory"


@pytest.fixture
def tree(monkeypatch):
    """A supervisor that tolerates transient faults, and gives up a child alone."""
    monkeypatch.setattr(Watched, "gave_up", lambda self, name, why: self.diary.append(("gave up", name, why)))
    plain = Watched.__init__
    monkeypatch.setattr(Watched, "__init__", lambda self, **given: plain(self, faults=TransientFaults(), **given))
    made = Tree()
    yield made
    for name in ["top", *made.directory.waiting()]:
        made.directory.tell(name, Stop("end"))


@pytest.mark.parametrize(("error", "given_up"), [(StateError("state_full", "full"), False), (ValueError("own"), True)])
def test_a_supervisor_that_tolerates_transient_faults_waits(tree, error, given_up):
    tree.run(tree.spec("a", budget=RestartBudget(1, 60.0)))
    tree.crash("a", error)
    tree.back("a", 2)
    tree.crash("a", error)
    if given_up:
        assert tree.only("gave up")
    else:
        tree.back("a", 3, step=PAUSE_S)
        assert not tree.only("gave up")


def want(tree, seconds, names="abcdef"):
    """Six children crash for want of descriptors, and can't be started either, until so much time has passed."""
    tree.run(*map(tree.spec, names), budget=RestartBudget(3, 60.0))
    tree.failing = dict.fromkeys(names, 10**6)
    for name in names:
        tree.crash(name, StateError("state_unwritable", "no descriptors"))
    for _ in range(int(seconds / PAUSE_S)):
        tree.clock.advance(PAUSE_S)
        tree.settle()
    assert tree.top.alive
    return list(names)


def test_many_who_meet_it_at_once_are_no_storm(tree):
    names = want(tree, 60)
    tries = len(tree.only("ended"))
    assert len(names) * 6 < tries <= len(names) * (2 * 5 + 60 / PAUSE_S), "there is a pause between two tries"
    tree.failing = {}
    tree.clock.advance(PAUSE_S)
    tree.settle()
    eventually(lambda: all(tree.incarnation(name) for name in names), "all stand again")
    assert not tree.only("gave up")
    for name in "abc":
        tree.crash(name)
    assert tree.top.alive, "what was tolerated cost nothing of the budget for own faults"
    tree.directory.find("d").tell(ValueError("one too many"))
    assert tree.top.wait_down(30), "which bounds those as ever"


def test_what_lasts_too_long_is_given_up_child_by_child(tree):
    names = want(tree, PATIENCE_S + 10 * PAUSE_S)
    assert sorted(name for _, name, _ in tree.only("gave up")) == names
    assert ask(tree.top, "children", 30) == []
