"""Gauges age: a fresh one decides, an old one is a floor, one of a window that began anew is nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.state.gauges import Gauge, gauge_object, headroom, newest, pressure

NOW = 1_795_000_000.0


def gauge(used=0.4, age=0.0, left=3600.0, key="pool:claude", name="five_hour"):
    resets = None if left is None else NOW + left
    return Gauge(key=key, name=name, utilization=used, resets_at=resets, measured_at=NOW - age, source="run")


@pytest.mark.parametrize(
    ("one", "worth"),
    [
        (gauge(), "fresh"),
        (gauge(age=7200), "fresh"),
        (gauge(age=7201), "floor"),
        (gauge(age=60, left=0), "over"),
        (gauge(left=None, age=100), "fresh"),
        (gauge(left=None, age=5 * 3600), "over"),
        (gauge(left=None, age=5 * 3600, name="monthly"), "floor"),
        (gauge(age=-30), "fresh"),
        (gauge(age=-3600), "floor"),
    ],
)
def test_what_a_reading_is_worth(one, worth):
    assert one.standing(NOW) == worth


def test_only_fresh_ones_decide():
    week = gauge(0.9, age=8000, name="seven_day", left=9e5)
    assert pressure([gauge(0.3), week], "pool:claude", NOW) == 0.3
    assert pressure([week], "pool:claude", NOW) is None
    assert not headroom([gauge(0.3), week], "pool:claude", NOW, 0.5)  # a window of which too little is known
    assert headroom([gauge(0.3), gauge(0.9, left=-1, name="seven_day")], "pool:claude", NOW, 0.5)
    assert not headroom([], "pool:claude", NOW, 0.5)
    assert not headroom([gauge(0.5)], "pool:claude", NOW, 0.5)


def test_the_newest_is_taken_but_none_from_the_future():
    ahead, old, new = gauge(0.9, age=-9999), gauge(0.1, age=50), gauge(0.2, age=5)
    assert newest([old, ahead, new], NOW) == [new]
    assert newest([ahead], NOW) == [ahead]


def test_of_a_window_that_began_anew_nothing_is_said():
    shown = gauge_object(gauge(0.7, age=60, left=-1), NOW)
    assert (shown["utilization"], shown["standing"], shown["age_s"]) == (None, "over", 60.0)


READINGS = st.builds(
    gauge,
    used=st.floats(0, 1),
    age=st.floats(-1e5, 1e6),
    left=st.none() | st.floats(-1e6, 1e6),
    name=st.sampled_from(["five_hour", "seven_day", "primary"]),
)


@given(st.lists(READINGS, max_size=12), st.floats(0, 1))
def test_whatever_was_told_pressure_and_headroom_agree(told, line):
    used = pressure(told, "pool:claude", NOW)
    assert used is None or 0 <= used <= 1
    if headroom(told, "pool:claude", NOW, line):
        assert used is not None
        assert used < line
    kept = newest(told, NOW)
    assert len({one.name for one in kept}) == len(kept)
    assert newest(kept, NOW) == kept
