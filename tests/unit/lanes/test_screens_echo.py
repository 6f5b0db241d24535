"""What a turn leaves in a conversation, by pictures of the real interfaces around one short turn."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.screens.classify import classify
from outsourcerer.lanes.screens.delivery import Delivery, Look, Policy, Send, advance, belated
from outsourcerer.lanes.screens.echo import answer_below
from outsourcerer.lanes.screens.model import Composer, Screen, ScreenState, Span, State
from outsourcerer.lanes.screens.rules import RULES, rules_for, version_of

POLICY = Policy(settle_s=0.1, sight_s=2.0, again_s=1.0, turn_s=5.0, left_s=4.0, answered_s=2.0)
IDLE = ScreenState(state=State.IDLE, evidence="", composer=Composer.EMPTY)


def seen(kept, rules):
    lines = tuple(kept["lines"])
    screen = Screen(
        lines=lines,
        bright=tuple(kept["faint"].get(str(row), line) for row, line in enumerate(lines)),
        marked=tuple(Span(*span) for span in kept["marked"]),
        cursor=tuple(kept["cursor"]),
        title=kept["title"],
        alternate=kept["alternate"],
    )
    return classify(screen, rules)


def turns():
    for path in sorted((Path(__file__).parents[2] / "golden" / "screens" / "sent").glob("*.json")):
        content = json.loads(path.read_text())
        rules = rules_for(content["cli"], version_of(content["version"]))
        without = [seen(kept, rules) for kept in content["without_answer"]]
        before, after = seen(content["before"], rules), seen(content["after"], rules)
        yield pytest.param(content["text"], before, without, after, id=content["cli"])


TURNS = list(turns())
each_turn = pytest.mark.parametrize(("text", "before", "without", "after"), TURNS)


def at(now, state, **terms):
    return Look(**{"now": now, "state": state, "quiet_s": 1.0, "drained": True, **terms})


def sent(text, before, *after):
    """Give a text to a composer that shows it as in ``before``; then one look a second."""
    shown = ScreenState(state=State.IDLE, evidence="", composer=Composer.DRAFT, draft=text, body=before.body)
    send = Send(text=text)
    for look in (
        at(0, IDLE),
        at(0.1, IDLE),
        at(0.2, shown),
        *(at(1 + place, state) for place, state in enumerate(after)),
    ):
        send, _ = advance(send, look, POLICY)
    return send


def test_every_interface_that_takes_texts_has_a_turn():
    assert {param.id for param in TURNS} == set(RULES) - {"droid"}


@each_turn
def test_a_turn_that_no_look_saw_is_proved_by_what_it_left(text, before, without, after):
    assert (after.state, after.composer) == (State.IDLE, Composer.EMPTY)
    assert before.draft == text
    send = sent(text, before, *without, after, after, after)
    assert (send.reached, send.ended) == (Delivery.TURN_STARTED, True)
    assert "answer" in send.evidence


@each_turn
def test_what_it_left_counts_only_once_it_has_stood_for_a_while(text, before, without, after):
    assert not sent(text, before, *without, after, after).ended


@each_turn
def test_a_text_without_an_answer_proves_nothing(text, before, without, after):
    place = max(row for row, line in enumerate(after.body) if text in line)
    cut = ScreenState(state=State.IDLE, evidence="", composer=Composer.EMPTY, body=after.body[: place + 1])
    for state in (*without, cut):
        send = sent(text, before, *[state] * 9)
        assert (send.reached is Delivery.TURN_STARTED, send.ended) == (False, True)


@each_turn
def test_what_stood_there_before_proves_nothing(text, before, without, after):
    assert answer_below(text, after.body, after.body) is None
    assert answer_below("And now?", before.body, after.body) is None
    assert answer_below(f"{text}\nIn full.", before.body, after.body) is None


@each_turn
def test_a_turn_that_is_seen_late_is_found(text, before, without, after):
    send = sent(text, before, *[ScreenState(state=State.IDLE, evidence="", composer=Composer.EMPTY)] * 9)
    assert send.ended
    assert send.reached is not Delivery.TURN_STARTED
    for now, state, proved in ((20, after, False), (21, after, False), (22.5, after, True)):
        send, proof = belated(send, at(now, state), POLICY)
        assert (proof is not None) == proved
    working = ScreenState(state=State.WORKING, evidence="at work", composer=Composer.EMPTY, body=after.body)
    assert belated(send, at(30, working), POLICY)[1] == "at work"
    others = ScreenState(state=State.WORKING, evidence="at work", composer=Composer.EMPTY, body=before.body)
    assert belated(send, at(30, others), POLICY)[1] is None
    assert belated(send, at(30, others, recorded=True), POLICY)[1]


@pytest.mark.parametrize(
    ("text", "rows", "below"),
    [
        ("one\ntwo", ["❯ one", "  two", "", "● three"], "● three"),
        ("one\ntwo", ["❯ one", "● three"], None),
        ("a long one that is wrapped", ["› a long one", "  that is wrapped", "• yes"], "• yes"),
        ("> quoted\n> twice", [" > > quoted", "   > twice", "✦ ok"], "✦ ok"),
        ("go", ["❯ go                 14:08", "   /nowhere"], "/nowhere"),
        ("go", ["❯ go on and on", "● ok"], None),
        ("go", ["● go", "● ok"], None),
        ("go", ["┃  go", "", "     ok"], "ok"),
        ("go", ["❯ go", "", "────────"], ""),
        ("─── a rule ───", ["❯ ─── a rule ───", "● ok"], "● ok"),
        ("!", ["❯ !", "● ok"], None),
        ("", ["❯", "● ok"], None),
        ("y" * 30_000, ["y" * 200] * 50, None),
    ],
)
def test_only_the_whole_text_counts(text, rows, below):
    assert answer_below(text, (), tuple(rows)) == below


_ROWS = st.lists(st.text(alphabet="ab ❯─>:1│", max_size=12), max_size=12).map(tuple)


@given(st.text(alphabet="ab ❯─>:1│\n", max_size=12), _ROWS, _ROWS)
@settings(max_examples=60, deadline=None)
def test_nothing_is_proved_by_a_conversation_that_stayed_as_it_was(text, rows, more):
    assert answer_below(text, rows, rows) is None
    assert answer_below(text, (*rows, *more), rows) is None
