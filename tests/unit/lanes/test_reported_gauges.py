"""Gauges that others wrote down: whatever is in their files, a reading or none, and never an exception."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.reported_gauges import Told, from_rollout, from_tap

# As codex 0.171.0 wrote it.
LINE = (
    b'{"timestamp": "2026-11-30T08:18:19.429Z", "ordinal": 15, "type": "event_msg", "payload": {"type": "token_count", '
    b'"info": {"total_token_usage": {"input_tokens": 1234}}, "rate_limits": {"limit_id": "codex", "limit_name": null, '
    b'"primary": {"used_percent": 42.5, "window_minutes": 300, "resets_at": 1796030299}, "secondary": {"used_percent": '
    b'17.0, "window_minutes": 10080, "resets_at": 1796386699}, "credits": null, "plan_type": null}}}'
)
AT = 1796026699.429


def test_a_rollouts_last_gauges():
    older = LINE.replace(b"42.5", b"11.0").replace(b"08:18:19.429", b"07:00:00.000")
    without = b'{"timestamp": "2026-11-30T09:00:00Z", "payload": {"type": "token_count", "rate_limits": null}}'
    found = from_rollout(b'cut": 1}\n' + older + b"\n" + LINE + b"\n" + without + b'\n{"type": "half')
    assert found == [
        Told(name="five_hour", utilization=0.425, resets_at=1796030299.0, measured_at=pytest.approx(AT)),
        Told(name="seven_day", utilization=0.17, resets_at=1796386699.0, measured_at=pytest.approx(AT)),
    ]


def test_a_window_of_another_length_keeps_its_name():
    found = from_rollout(LINE.replace(b'"window_minutes": 300', b'"window_minutes": 60'))
    assert [one.name for one in found] == ["primary", "seven_day"]


@pytest.mark.parametrize("used", [b"null", b'"42"', b"-1", b"NaN", b"Infinity", b"true", b"1e999", b"9" * 400])
def test_a_use_that_makes_no_sense_is_none(used):
    assert [one.name for one in from_rollout(LINE.replace(b"42.5", used))] == ["seven_day"]


def test_what_the_tap_kept():
    row = {"name": "five_hour", "utilization": 0.42, "resets_at": None}
    kept = {"measured_at": 5.0, "windows": [row, {"name": 7}, "x", {"name": "a\x1b", "utilization": 1}]}
    assert from_tap(json.dumps(kept).encode()) == [
        Told(name="five_hour", utilization=0.42, resets_at=None, measured_at=5.0)
    ]


@given(st.binary(max_size=200))
def test_any_bytes(data):
    for read in (from_rollout, from_tap):
        assert read(data) == []
        assert read(b'{"rate_limits"' + data) == []
        assert read(b"[" * 5000) == []


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda one: st.lists(one) | st.dictionaries(
    st.sampled_from(["payload", "rate_limits", "primary", "timestamp", "windows", "measured_at", "used_percent"]), one,
)))  # fmt: skip
def test_any_json(value):
    line = json.dumps({"rate_limits": 1, "payload": value, "timestamp": "2026-11-30T08:18:19Z", "windows": value})
    for read in (from_rollout, from_tap):
        for one in read(line.encode()):
            assert 0 <= one.utilization <= 1
