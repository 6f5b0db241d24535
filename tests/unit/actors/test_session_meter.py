"""What each turn of a session used: by turn, by process, by conversation; in any pieces; never a guess."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.actors.session_meter import Meter
from outsourcerer.messages.session import SessionRecord

EARLIER = "20261129-100000-0123456789ab"


def record(**terms):
    fixed = {"session_id": "20261130-100000-0123456789ab", "name": "s", "lane": "pi", "vehicle": "pi"}
    return SessionRecord(**fixed, transport="native", cwd="/", accepted_at=0.0, **terms)


def usage(given, output, of=None, **more):
    return {"type": "usage", "input": given, "output": output, **({"of": of} if of else {}), **more}


END = {"type": "end", "ok": True}


def outputs(meter, record, events, turns=0):
    return [turn.tokens and turn.tokens.output for turn in meter.read(record, events, turns)]


def test_counts_of_a_turn_are_added_up():
    told = Meter().read(record(), [usage(3, 1), usage(4, 2), END, END], 0)
    assert [(turn.turn, turn.tokens and turn.tokens.input) for turn in told] == [(1, 7), (2, None)]


@pytest.mark.parametrize("of", ["process", "conversation"])
def test_of_a_running_count_the_turn_is_the_difference(of):
    events = [usage(1, 10, of), usage(2, 20, of), END, usage(5, 50, of), END, END]
    assert outputs(Meter(), record(), events) == [20, 30, None]


def test_what_a_conversation_counted_before_is_not_known():
    resumed = record(continues=EARLIER)
    events = [usage(0, 500, "conversation"), END, usage(0, 530, "conversation"), END]
    assert outputs(Meter(), resumed, events) == [None, 30]
    assert outputs(Meter(), resumed, [usage(0, 500, "process"), END]) == [500]


def test_a_process_that_was_started_anew_counts_from_nothing():
    meter = Meter()
    assert outputs(meter, record(), [usage(0, 100, "process"), END]) == [100]
    assert outputs(meter, record(attempt=2), [usage(0, 120, "process"), END], 1) == [120]


def test_a_count_that_went_back_is_not_believed():
    meter = Meter()
    assert outputs(meter, record(), [usage(0, 100, "conversation"), END]) == [100]
    assert outputs(meter, record(), [usage(0, 90, "conversation"), END], 1) == [None]
    assert outputs(meter, record(), [usage(0, 95, "conversation"), END], 2) == [5]


def test_cash_is_what_the_conversation_cost_since():
    events = [usage(0, 1, cash_usd=0.5), END, usage(0, 1, cash_usd=0.75), END, usage(0, 1, cash_usd=0.1), END]
    assert [turn.cash_usd for turn in Meter().read(record(), events, 0)] == [0.5, 0.25, None]
    resumed = Meter().read(record(continues=EARLIER), events[:4], 0)
    assert [turn.cash_usd for turn in resumed] == [None, 0.25]


def test_the_model_that_answered_is_kept():
    events = [{"type": "start", "model": "new"}, usage(1, 1), END]
    assert Meter().read(record(model="asked", model_observed="old"), events, 0)[0].model == "new"


@settings(max_examples=60)
@given(steps=st.lists(st.one_of(st.integers(1, 50), st.none()), max_size=12), cuts=st.lists(st.integers(0, 12)))
def test_any_pieces_and_a_reader_that_starts_anew_tell_the_same(steps, cuts):
    total, events = 0, []
    for step in steps:
        total += step or 0
        events.append(END if step is None else usage(0, total, "conversation"))
    whole = Meter().read(record(), events, 0)
    places = sorted({0, len(events), *(cut for cut in cuts if cut < len(events))})
    kept, turns, told = Meter(), 0, []
    for begin, end in pairwise(places):
        kept = Meter.from_json(json.loads(json.dumps(kept.to_json())))
        found = kept.read(record(), events[begin:end], turns)
        turns += len(found)
        told += found
    assert told == whole


@pytest.mark.parametrize("junk", [None, 1, [], {"base": 3, "attempt": "x", "turn": []}, {"seen": {"input": -1}}])
def test_what_can_t_be_read_is_unknown(junk):
    assert Meter.from_json(junk).read(record(), [END], 0)[0].tokens is None
