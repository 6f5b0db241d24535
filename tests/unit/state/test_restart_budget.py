"""How many crashes are bad luck: bounded within a window, later and later, forgotten with time."""

from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.state.restart_budget import RestartBudget


def test_the_first_restart_is_at_once_and_each_later_one_waits_twice_as_long():
    budget, delays = RestartBudget(5, 30.0), []
    for _ in range(5):
        budget, delay = budget.charge(100.0)
        delays.append(delay)
    assert delays == [0.0, 0.05, 0.1, 0.2, 0.4]
    assert budget.charge(100.0)[1] is None


def test_a_spent_budget_heals_with_time():
    budget = RestartBudget(2, 10.0)
    budget, _ = budget.charge(0.0)
    budget, _ = budget.charge(5.0)
    assert budget.charge(9.9)[1] is None
    budget, delay = budget.charge(10.0)
    assert delay is not None
    assert budget.charge(30.0)[1] == 0.0


@given(st.integers(1, 20), st.floats(1, 100), st.lists(st.floats(0, 20), max_size=200))
def test_never_more_than_so_many_within_the_window(most, within_s, pauses):
    budget, now, granted = RestartBudget(most, within_s), 0.0, []
    for pause in pauses:
        now += pause
        budget, delay = budget.charge(now)
        if delay is not None:
            assert 0.0 <= delay <= budget.longest_delay_s
            granted.append(now)
        recent = [at for at in granted if now - at < within_s]
        assert len(recent) <= most
        assert (delay is not None) or len(recent) == most
