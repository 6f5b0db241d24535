"""Money budgets, pure: nothing begins that is known to pass one, nothing goes on that is about to."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.state.budgets import Budget, Spent, budget_of, enough, no_room, usd
from outsourcerer.state.ledger import NANO

CENT = NANO // 100


def cents(day=None, job=None):
    return Budget(day=None if day is None else day * CENT, job=None if job is None else job * CENT)


@pytest.mark.parametrize(
    ("budget", "gone", "held", "price", "said"),
    [
        (cents(), 10**9, 10**9, 10**9, None),
        (cents(day=100), 60, 39, 1, None),
        (cents(day=100), 60, 39, 2, "~$0.99 of $1.00 for today spent, and this is estimated at ~$0.02"),
        (cents(day=100), 60, 39, None, None),
        (cents(day=100), 60, 40, None, "~$1.00 of $1.00 for today spent"),
        (cents(day=0), 0, 0, None, "~$0.00 of $0.00 for today spent"),
        (cents(job=5), 0, 0, 5, None),
        (cents(job=5), 0, 0, 6, "one plain answer is estimated at ~$0.06, and a job may spend $0.05"),
        (cents(job=5), 0, 0, None, None),
        (cents(job=0), 0, 0, None, "a job may spend no cash"),
    ],
)
def test_what_may_begin(budget, gone, held, price, said):
    found = no_room(budget, Spent(gone * CENT), held * CENT, None if price is None else price * CENT)
    assert found == said


def test_a_sum_with_unknown_runs_is_said_to_be_a_floor():
    assert no_room(cents(day=1), Spent(CENT, unknown_runs=2), 0, None) == "at least ~$0.01 of $0.01 for today spent"


@pytest.mark.parametrize(
    ("budget", "others", "so_far", "step", "ends"),
    [
        (cents(job=10), 0, 5, 5, False),
        (cents(job=10), 0, 6, 5, True),
        (cents(job=10), 0, 11, 0, True),
        (cents(job=10), 99, 5, 5, False),
        (cents(day=10), 0, 5, 5, False),
        (cents(day=10), 1, 5, 5, True),
        (cents(day=10, job=100), 8, 1, 2, True),
        (cents(), 100, 100, 100, False),
        (cents(day=0, job=0), 0, 0, 0, False),
    ],
)
def test_what_may_go_on(budget, others, so_far, step, ends):
    assert (enough(budget, Spent(), others * CENT, so_far * CENT, step * CENT) is not None) is ends


@settings(max_examples=60)
@given(
    day=st.integers(0, 500),
    runs=st.lists(st.tuples(st.integers(0, 60), st.lists(st.integers(1, 40), max_size=6)), max_size=12),
)
def test_a_days_cash_never_passes_its_budget_by_more_than_one_step(day, runs):
    """Steps that never grow are never above it: the last like the one before was still within."""
    budget, gone = cents(day=day), 0
    for price, steps in runs:
        if no_room(budget, Spent(gone * CENT), 0, price * CENT) is not None:
            assert gone >= day or gone + price > day
            continue
        so_far, before = 0, None
        for step in sorted(steps, reverse=True):
            if before is not None and enough(budget, Spent(gone * CENT), 0, so_far * CENT, before * CENT) is not None:
                break
            so_far, before = so_far + step, step
            assert before != steps or gone + so_far <= day
        gone += so_far
        first = max(steps, default=0)
        assert gone <= max(day, 0) + first


def test_settings_become_a_budget():
    assert budget_of(None, None) == Budget()
    assert not budget_of(None, None).bounds
    assert budget_of(0.0, 0.25) == Budget(day=0, job=NANO // 4)


def test_amounts_for_people():
    assert [usd(0), usd(NANO), usd(NANO // 8, sure=False), usd(12_000)] == ["$0.00", "$1.00", "~$0.12", "$0.000012"]
