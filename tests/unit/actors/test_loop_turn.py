"""A lap that is a turn of a session: what its events say became of it, and when it is over."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.actors.loop_turn import UNSEEN_S, Turn


def told(state, number=2, name="mine", at=100.0, **more):
    return {"type": "delivery", "number": number, "id": name, "state": state, "at": at, **more}


def state(word):
    return {"type": "state", "state": word}


def end(ok=True, **more):
    return {"type": "end", "ok": ok, **more}


TEXT = {"type": "text", "text": "said"}
EXITED = {"type": "exited"}
BEGUN = [told("accepted"), told("written"), told("turn-started"), state("working")]


@pytest.mark.parametrize(
    ("events", "over", "verdict"),
    [
        ([], False, "failed"),
        ([end(), state("idle")], False, "failed"),  # of a turn before it
        (BEGUN, False, "failed"),
        ([*BEGUN, end()], False, "done?"),  # its state does not say yet that it is idle
        ([*BEGUN, end(), state("idle")], True, "done?"),
        ([*BEGUN, state("waiting-approval")], False, "failed"),
        ([*BEGUN, end(ok=False, failure="task", message="no"), state("idle")], True, "failed"),
        ([*BEGUN, end(ok=False, failure="interrupted"), state("idle")], True, "interrupted"),
        ([*BEGUN, end(ok=False, failure="permission"), state("idle")], True, "permission-blocked"),
        # Somebody sent more meanwhile: what that comes to counts.
        ([*BEGUN, told("accepted", 3, "theirs"), end(ok=False, failure="interrupted"), state("idle")], False, None),
        (
            [
                *BEGUN,
                told("accepted", 3, "theirs"),
                end(ok=False, failure="interrupted"),
                told("turn-started", 3, "theirs"),
                state("working"),
                end(),
                state("idle"),
            ],
            True,
            "done?",
        ),
        ([told("accepted"), told("refused", reason="not now")], True, "failed"),
        ([told("accepted"), told("failed"), EXITED], True, "interrupted"),
        ([*BEGUN, EXITED], True, "interrupted"),
        ([EXITED, state("starting"), *BEGUN], False, None),  # the launch before it
        ([told("unverified"), state("working")], False, None),
        ([told("unverified", at=100.0), state("idle")], True, "failed"),
        ([told("unverified", at=1000.0), state("idle")], False, None),
    ],
)
def test_what_became_of_it(events, over, verdict):
    turn = Turn("mine")
    turn.read(events)
    assert turn.over(1000.0 + UNSEEN_S - 1) is over
    if verdict is not None:
        assert turn.verdict()[0].value == verdict


def test_its_text_is_the_last_word_or_all_that_was_said():
    turn = Turn("mine")
    turn.read([TEXT, *BEGUN, TEXT, TEXT, end()])
    assert (turn.text, turn.ends, turn.got) == ("saidsaid", 1, True)
    turn.read([end(text="the end")])
    assert turn.text == "the end"


_EVENTS = st.one_of(
    st.builds(told, st.sampled_from(["accepted", "seen", "turn-started", "failed", "x"]), st.integers(1, 4)),
    st.builds(state, st.sampled_from(["idle", "working", "lost"])),
    st.builds(end, st.booleans()),
    st.sampled_from([TEXT, EXITED, {}, {"type": "delivery"}, {"type": "end", "ok": 3, "message": 7}]),
)


@settings(max_examples=60)
@given(st.lists(_EVENTS, max_size=20), st.integers(0, 20))
def test_it_is_the_same_however_the_events_are_cut(events, cut):
    whole, pieces = Turn("mine"), Turn("mine")
    whole.read(events)
    pieces.read(events[:cut])
    pieces.read(events[cut:])
    assert whole == pieces
    assert whole.verdict() == pieces.verdict()
