"""What kind of task it is: nine of ten that nobody tuned for, and never by a part of another word."""

from collections import Counter

import pytest
from fakes.advice_tasks import BLIND, BOUNDARIES, read_tasks
from hypothesis import example, given
from hypothesis import strategies as st
from outsourcerer.lanes.advice.classify import Kind, classify
from outsourcerer.lanes.advice.structure import HEAD, TAIL, fold, read

TASKS = read_tasks()


def right(tasks):
    return sum(classify(task.text).kind.value == task.kind for task in tasks) / len(tasks)


def test_the_labelled_set_is_what_it_is_said_to_be():
    assert len(TASKS) >= 300
    assert len({task.text for task in TASKS}) == len(TASKS)
    assert {task.kind for task in TASKS} == {kind.value for kind in Kind}
    assert min(Counter(task.kind for task in TASKS).values()) >= 50
    assert {"en", "de", "fr", "es", "pt", "it", "nl", "zh", "ja", "ru"} <= {task.language for task in TASKS}
    assert 0.28 < sum(task.held_out for task in TASKS) / len(TASKS) < 0.40


@pytest.mark.parametrize(
    ("writers", "share"),
    [({BLIND}, 0.90), ({"first", "third", "fourth", "fifth"}, 0.90), ({BOUNDARIES}, 0.78)],
)
def test_those_that_were_held_out_are_right(writers, share):
    # Which ones are wrong is not said: whoever saw it would tune for them.
    assert right([task for task in TASKS if task.held_out and task.writer in writers]) >= share


def test_those_that_were_learned_from_are_right():
    assert right([task for task in TASKS if not task.held_out]) >= 0.97


@pytest.mark.parametrize(
    ("task", "never"),
    [
        ("write an important letter", "import"),
        ("the classic contest", "class"),
        ("a disrupted supplier", "rup"),
        ("attestation of residence", "test"),
        ("what is the capitalisation of the market", "capital"),
    ],
)
def test_a_word_is_never_a_part_of_another(task, never):
    assert never not in classify(task).evidence


def test_structure_outweighs_words():
    trace = 'what is this?\n\nTraceback (most recent call last):\n  File "a.py", line 3, in <module>\nKeyError: 4'
    assert classify(trace).kind is Kind.CODE
    assert any(word.startswith("stack trace") for word in classify(trace).evidence)
    assert classify("look at this\n```py\nx = 1\n```").kind is Kind.CODE


def test_what_stands_in_a_fence_is_not_read_as_words():
    fenced = classify("explain\n```\nwrite a poem, a story, a slogan, a haiku\n```")
    assert fenced.scores[Kind.CREATIVE] == 0


@pytest.mark.parametrize(
    ("task", "difficulty"),
    [
        ("hi", "easy"),
        ("rename getCwd to cwd", "easy"),
        ("add pagination to GET /api/v2/orders (limit, cursor)", "normal"),
        ("find the deadlock in our distributed lock manager and prove that the fix holds under every race", "hard"),
    ],
)
def test_how_hard(task, difficulty):
    assert classify(task).difficulty == difficulty


@pytest.mark.parametrize(
    ("task", "asks"),
    [
        ("this is safety-critical: review the brake controller", True),
        ("give a formal proof of termination", True),
        ("fix the typo", False),
        ("the frontier of science", False),
    ],
)
def test_a_task_may_ask_for_the_strongest(task, asks):
    assert classify(task).frontier is asks


@given(st.text(max_size=400))
@example("")
@example("\x00\ud800")
@example("```")
@example("17 * 23")
def test_any_text_is_some_kind_and_always_the_same(text):
    found = classify(text)
    assert found == classify(text)
    assert 0 <= found.confidence <= 1
    assert len(found.evidence) <= 6


@given(st.text(max_size=200))
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    "unit", ["word ", "a_", "foo(", "a/", "aB", "-", "```x", "until ", "SELECT ", "\u4fee\u590d", " ", "\n"]
)
def test_however_long_a_task_is_no_more_of_it_is_read(unit):
    shape = read(unit * 200_000)
    assert len(shape.folded) <= HEAD + TAIL + 1
    assert classify(unit * 200_000).kind in Kind


def test_the_end_of_a_long_task_counts():
    assert classify("blah " * 5000 + "fix the bug in src/main.rs, the unit tests fail").kind is Kind.CODE
