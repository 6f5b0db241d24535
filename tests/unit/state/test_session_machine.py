"""A session's table: what leads where, and that nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.messages.vocabulary import SessionState
from outsourcerer.state.session_machine import (
    MOST_HOLDERS,
    TRANSITIONS,
    Effect,
    IllegalEvent,
    Missing,
    Orphaned,
    Over,
    Present,
    Relaunched,
    Seen,
    SessionMachine,
    StopAsked,
    TreeGone,
    step,
)

IDLE = SessionMachine(state=SessionState.IDLE)


def run(machine, *events):
    effects = []
    for event in events:
        machine, more = step(machine, event)
        effects += more
    return machine, effects


def test_a_life():
    machine, effects = run(SessionMachine(), Seen(SessionState.IDLE, "init"), Seen(SessionState.WORKING, "turn"))
    assert (machine.state, effects) == (SessionState.WORKING, [Effect.RECORD_STATE] * 2)
    machine, effects = run(machine, StopAsked("stopped on request"), StopAsked("again"), Over("exit 0", 0), TreeGone())
    assert effects == [Effect.CLOSE, Effect.END_TREE, Effect.RECORD_END]
    assert (machine.state, machine.reason, machine.exit_code) == (SessionState.EXITED, "stopped on request", 0)


def test_a_holder_that_is_missed_twice_is_lost_and_its_tree_ended():
    machine, effects = run(IDLE, Missing(), Present(), Missing())
    assert (machine.state, effects) == (SessionState.IDLE, [])
    machine, effects = run(machine, Missing(), Missing(), TreeGone((7,)))
    assert effects == [Effect.END_TREE, Effect.RECORD_END]
    assert (machine.state, machine.reason, machine.survivors) == (SessionState.LOST, "its holder died", (7,))


def test_a_holder_that_was_told_to_go_is_not_lost():
    machine, _ = run(IDLE, StopAsked("stopped on request"), Missing(), Missing(), TreeGone())
    assert (machine.state, machine.reason) == (SessionState.EXITED, "stopped on request")


def test_what_is_over_can_be_launched_again_and_nothing_else_can():
    machine, effects = step(SessionMachine(state=SessionState.LOST), Relaunched(3))
    assert (machine, effects) == (SessionMachine(attempt=3), (Effect.LAUNCH,))
    with pytest.raises(IllegalEvent):
        step(IDLE, Relaunched(2))
    with pytest.raises(IllegalEvent):
        step(SessionMachine(state=SessionState.EXITED), Seen(SessionState.IDLE))


def test_the_same_state_twice_is_no_news():
    assert step(SessionMachine(state=SessionState.IDLE, evidence="x"), Seen(SessionState.IDLE, "x"))[1] == ()


def test_a_program_that_runs_on_without_its_holder_is_joined_so_often_and_no_more():
    machine = IDLE
    for number in range(MOST_HOLDERS):
        machine, effects = run(machine, Orphaned(), Orphaned())
        assert (machine.attempt, machine.state, effects) == (number + 2, SessionState.STARTING, [Effect.HOLD_AGAIN])
    machine, effects = run(machine, Orphaned(), Orphaned(), TreeGone())
    assert (machine.state, effects) == (SessionState.LOST, [Effect.END_TREE, Effect.RECORD_END])


def test_one_that_is_being_ended_is_not_joined():
    machine, effects = run(IDLE, StopAsked("stopped on request"), Orphaned(), Orphaned(), TreeGone())
    assert (machine.state, Effect.HOLD_AGAIN in effects) == (SessionState.EXITED, False)


EVENTS = st.one_of(
    st.builds(Seen, st.sampled_from(SessionState), st.none() | st.just("e")),
    st.builds(StopAsked, st.just("asked")),
    st.just(Present()),
    st.just(Missing()),
    st.just(Orphaned()),
    st.builds(Over, st.just("exit 1"), st.just(1)),
    st.just(TreeGone()),
    st.builds(Relaunched, st.integers(2, 5)),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(EVENTS, max_size=30))
def test_the_table_is_all_that_happens(events):
    machine = SessionMachine()
    ends = asked = 0
    for event in events:
        before = machine
        try:
            machine, effects = step(machine, event)
        except IllegalEvent:
            assert type(event) not in TRANSITIONS[before.state]
            continue
        asked += effects.count(Effect.END_TREE)
        ends += effects.count(Effect.RECORD_END)
        if machine.state is not before.state:
            assert machine.state in TRANSITIONS[before.state][type(event)]
        if Effect.LAUNCH in effects:
            ends = asked = 0
        assert ends <= 1
        assert asked <= 1
        assert (Effect.RECORD_END in effects) == (machine.state.ended and not before.state.ended)
