"""The model pin: another model than was asked for is noticed; what is not known is not claimed."""

import pytest
from outsourcerer.actors.session_reading import read_news
from outsourcerer.messages.session import SessionRecord


def record(**terms):
    fixed = {"session_id": "20261130-100000-0123456789ab", "name": "s", "lane": "claude", "vehicle": "claude"}
    return SessionRecord(**fixed, transport="pty", cwd="/", accepted_at=0.0, **terms)


def pin(record, *events):
    facts = read_news(record, events, 0).facts
    return next((fact.model_pin for fact in facts if getattr(fact, "model_pin", None)), None)


def ran(model):
    return {"type": "start", "model": model}


@pytest.mark.parametrize(
    ("asked", "seen", "told"),
    [
        ("fable", "claude-fable-5-2", "kept"),
        ("gpt-6-luna", "GPT-6-Luna", "kept"),
        ("fable", "claude-opus-5-5", "drifted"),
        (None, "claude-opus-5-5", None),
    ],
)
def test_what_answers_against_what_was_asked_for(asked, seen, told):
    assert pin(record(model=asked), ran(seen)) == told


def test_after_a_switch_the_old_model_proves_no_drift():
    before = record(model="opus", model_observed="claude-opus-5-5", model_pin="kept")
    assert pin(before, {"type": "switched", "model": "fable"}) == "unknown"
    assert pin(before, {"type": "switched", "model": "fable"}, ran("claude-fable-5-2")) is None  # kept, as before
    assert pin(before, {"type": "switched", "model": "fable"}, ran("claude-opus-5-5")) == "drifted"


def test_what_is_told_already_is_not_told_again():
    known = record(model="fable", model_observed="claude-opus-5-5", model_pin="drifted")
    assert read_news(known, [ran("claude-opus-5-5")], 0).facts == []
