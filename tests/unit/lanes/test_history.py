"""A model's own past: few outcomes change little, old ones nothing, this repository's count before all others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.advice.history import HALF_LIFE_S, HIGH, LOW, WINDOW_S, Outcome, past

NOW = 1_795_000_000.0
DAY = 86400.0


def told(verdict="passed", *, days=0.0, project="/repo", kind="code", model="glm-5-3"):
    return Outcome(verdict=verdict, model=model, kind=kind, project=project, at=NOW - days * DAY)


def of(outcomes, project="/repo", model="glm-5-3"):
    return past(outcomes, model, "code", project, NOW)


def test_without_outcomes_nothing_changes():
    assert of([]).multiplier == 1.0
    assert of([]).rate is None
    assert of([told(model="other"), told(kind="creative"), told(days=91)]).scope == "none"


def test_a_lanes_own_default_is_no_model_to_learn_of():
    assert of([told(model="")], model="").scope == "none"


def test_hand_worked():
    found = of([told("passed"), told("passed"), told("failed")])
    assert found.scope == "repository"
    assert found.rate == pytest.approx((5.6 + 2) / 11)
    assert found.multiplier == pytest.approx(1 + (7.6 / 11 - 0.7) * 2 / 3)
    half = of([told("reverted", days=60)])
    assert half.samples == pytest.approx(0.5)
    assert half.rate == pytest.approx(5.6 / 8.5)


def test_three_outcomes_here_outweigh_all_others():
    elsewhere = [told("failed", project="/other")] * 50
    here = [told("passed")] * 3
    assert of(elsewhere + here).multiplier > 1
    assert of(elsewhere + here[:2]).multiplier < 1


def test_a_clock_that_was_ahead_makes_no_outcome_weigh_more():
    assert of([told(days=-10)]).samples == 1.0
    assert of([told(days=-(HALF_LIFE_S / DAY) - 1)]).scope == "none"


@given(
    st.lists(
        st.builds(
            told,
            st.sampled_from(["passed", "failed", "reverted"]),
            days=st.floats(-10, WINDOW_S / DAY),
            project=st.sampled_from(["/repo", "/other", None]),
        ),
        max_size=60,
    )
)
def test_it_stays_within_its_bounds_and_one_more_pass_never_harms(outcomes):
    found = of(outcomes)
    assert LOW <= found.multiplier <= HIGH
    assert found.rate is None or 0 < found.rate < 1
    if found.scope == "repository":
        assert of([*outcomes, told("passed")]).multiplier >= found.multiplier - 1e-9
