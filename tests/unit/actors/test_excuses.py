"""Who is out of budget for what befalls the whole machine is started again, and given up in the end."""

import pytest
from fakes.supervision import Tree, Watched
from outsourcerer.actors.excuses import FORGOTTEN_S, PATIENCE_S, PAUSE_S, Excuses
from outsourcerer.state.errors import StateError
from outsourcerer.state.restart_budget import RestartBudget

FULL = "StateError: can't write: the disk is full"


def test_patience_ends():
    excuses, now = Excuses(), 0.0
    while excuses.grant("job", FULL, now):
        now += PAUSE_S
        assert now < 2 * PATIENCE_S
    assert now > PATIENCE_S


def test_another_trouble_begins_anew():
    excuses = Excuses()
    for round_ in range(20):
        assert excuses.grant("job", FULL, round_ * (FORGOTTEN_S + 1))


@pytest.mark.parametrize(
    "error", ["ValueError: x", "TypeError: StateError: x", "failed to start: LookupError: gone", ""]
)
def test_a_fault_of_its_own_is_no_excuse(error):
    assert not Excuses().grant("job", error, 0.0)


@pytest.mark.parametrize("error", [FULL, "failed to start: " + FULL, "OSError: [Errno 24] Too many open files"])
def test_what_befalls_the_machine_is_one(error):
    assert Excuses().grant("job", error, 0.0)


@pytest.mark.parametrize(("error", "given_up"), [(StateError("state_full", "full"), False), (ValueError("own"), True)])
def test_a_supervisor_with_excuses_waits(monkeypatch, error, given_up):
    monkeypatch.setattr(Watched, "gave_up", lambda self, name, why: self.diary.append(("gave up", name, why)))
    plain = Watched.__init__
    monkeypatch.setattr(Watched, "__init__", lambda self, **given: plain(self, excuses=Excuses(), **given))
    tree = Tree()
    tree.run(tree.spec("a", budget=RestartBudget(1, 60.0)))
    tree.crash("a", error)
    tree.back("a", 2)
    tree.crash("a", error)
    if given_up:
        assert tree.only("gave up")
    else:
        tree.back("a", 3, step=PAUSE_S)
        assert not tree.only("gave up")
