"""The same failure is known again, another one is another, and what a delegate is told is bounded."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.feedback import FEEDBACK, feedback, fingerprint, last_line, normalised

SAME = [
    ("1 failed, 2 passed in 0.12s", "1 failed, 2 passed in 13.4s"),
    ("took 12 ms", "took 9ms"),
    ("ok after 1m 3s", "ok after 12s"),
    ("2026-01-02T03:04:05.123Z ERROR boom", "2027-11-30 13:14:15 ERROR boom"),
    ("[12:01:59] boom", "[02:11:03] boom"),
    ("at 1764517627.123 boom", "at 1764517999 boom"),
    ("E  open('/tmp/pytest-of-me/pytest-12/x/a.txt')", "E  open('/tmp/pytest-of-me/pytest-13/x/a.txt')"),
    ("/var/folders/ab/cd/T/tmpab12cd34/f: no", "/var/folders/zz/q/T/tmpzz99xx00/f: no"),
    ("<Thing object at 0x7f12ab34cd56>", "<Thing object at 0x55d0aa001100>"),
    ("request 123e4567-e89b-12d3-a456-426614174000 failed", "request 00000000-0000-4000-8000-000000000000 failed"),
    ("commit deadbee1 broke", "commit 1a2b3c4d5e broke"),
    ("pid 4242 died", "pid 17 died"),
    ("Process-12 died", "Process-3 died"),
    ("Using --randomly-seed=123456", "Using --randomly-seed=99"),
    ("connect localhost:38211 refused", "connect localhost:40100 refused"),
    ("\x1b[31mFAILED\x1b[0m t.py::a", "FAILED t.py::a"),
    ("progress 10%\rprogress 90%\rfailed", "failed"),
    ("b failed\na failed", "a failed\nb failed\n\n"),
    ("===== 1 failed =====", "======== 1 failed ======"),
]
OTHER = [
    ("2 failed, 1 passed in 0.1s", "1 failed, 2 passed in 0.1s"),
    ("t.py:12: AssertionError", "t.py:13: AssertionError"),
    ("assert 3 == 4", "assert 3 == 5"),
    ("FAILED test_a", "FAILED test_b"),
    ("expected 10 items", "expected 9 items"),
    ("KeyError: 'a'", "KeyError: 'b'"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_failure(one, other):
    assert normalised(one) == normalised(other)
    assert fingerprint("exit 1", one) == fingerprint("exit 1", other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_failure(one, other):
    assert fingerprint("exit 1", one) != fingerprint("exit 1", other)


def test_how_it_ended_counts():
    assert fingerprint("exit 1", "x") != fingerprint("exit 2", "x")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400))
def test_any_output_is_taken(output):
    assert fingerprint("exit 1", output) == fingerprint("exit 1", output + "\n\n")
    assert "\x1b" not in feedback("exit 1", output)


@pytest.mark.parametrize(
    "piece", ["a", "0", "1 ", "f0", "/tmp/", "==", "12:", "1.1.1.1", "-", "<duration> ", "\x1b[", "\r"]
)
def test_a_long_line_costs_what_its_length_is(piece):
    """A pattern that backtracks would not come back at all."""
    assert len(normalised((piece * 64000)[:64000])) <= 64000


def test_feedback_is_bounded_and_keeps_both_ends():
    told = feedback("exit 1", "first\n" + "x" * 100 + "\n" + "line\n" * 5000 + "last")
    assert len(told) < FEEDBACK + 100
    assert told.startswith("exit 1\nfirst\n")
    assert "characters left out" in told
    assert told.endswith("last")
    assert feedback("exit 7", "") == "exit 7, and printed nothing"


def test_the_last_line_that_says_something():
    assert last_line("a\n1 failed in 2s\n======\n\n") == "1 failed in 2s"
    assert last_line("---\n") == ""
