"""The command line that puts a wall around a delegate, and when one is ours to keep."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.contract import Launch, Wall
from outsourcerer.lanes.evidence import Evidence
from outsourcerer.lanes.outcome import judge
from outsourcerer.lanes.registry import builtin
from outsourcerer.lanes.walls import Fence, behind, guarded, inside, prefix, said
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import TurnEnded
from outsourcerer.messages.vocabulary import JobState, Verb

FENCE = Fence(program="/usr/bin/bwrap", trees=("/w", "/other/.git"), writable=("/w/.state",), cwd="/w/sub")
GOOD = Evidence(turn=TurnEnded(ok=True, text="an answer"), last_text="an answer")


def test_the_tree_is_bound_read_only_and_state_stays_writable_after_it():
    words = prefix(FENCE)
    assert words[0] == "/usr/bin/bwrap"
    assert words[-3:] == ("--chdir", "/w/sub", "--")
    text = " ".join(words)
    assert "--ro-bind /w /w --ro-bind /other/.git /other/.git --bind-try /w/.state /w/.state" in text
    assert text.index("--dev-bind / /") < text.index("--ro-bind")


def test_it_can_neither_be_undone_nor_left():
    """Both were ways out for a delegate that runs as root: its capabilities, and /proc of who waits outside."""
    words = prefix(FENCE)
    assert "--unshare-user" in words
    assert words[words.index("--cap-drop") + 1] == "ALL"


def test_a_delegate_outlives_its_starter_behind_it_too():
    assert "--die-with-parent" not in prefix(FENCE)


def test_only_the_command_line_changes():
    launch = Launch(argv=("/bin/x", "--y"), env_set={"A": "b"}, stdin=b"prompt", notices=("n",))
    walled = behind(launch, FENCE)
    assert walled.argv[-2:] == launch.argv
    assert replace(walled, argv=launch.argv) == launch


@given(st.lists(st.text(min_size=1), min_size=1).map(tuple))
def test_what_is_behind_it_is_never_read_as_its_option(argv):
    words = behind(Launch(argv=argv), FENCE).argv
    assert words[len(prefix(FENCE)) :] == argv
    assert words[len(prefix(FENCE)) - 1] == "--"


@pytest.mark.parametrize(
    ("folder", "expected"),
    [("/w/a", True), ("/w", False), ("/", False), ("/ww/a", False), ("/x", False), ("/w/a/b", True)],
)
def test_only_what_lies_in_the_tree_needs_an_opening(folder, expected):
    assert inside((folder,), ("/w",)) == ((folder,) if expected else ())


@pytest.mark.parametrize("verb", list(Verb))
def test_only_read_only_verbs_of_lanes_without_a_wall_are_ours(verb):
    lane = builtin("claude")
    assert not guarded(lane, verb)
    assert guarded(replace(lane, wall=Wall.OURS), verb) is (verb in (Verb.RUN, Verb.EXPLORE))


def test_what_is_said_depends_on_what_stands():
    lane = builtin("claude")
    assert "read-only (bubblewrap)" in said(lane, walled=True)
    assert "compared before and after" in said(lane, walled=False)


def test_a_breach_is_a_verdict_of_its_own():
    verdict = judge(GOOD, ExitStatus(code=0), breach=["added a.txt", "modified b.txt"])
    assert (verdict.state, verdict.exit, verdict.outcome) == (JobState.FAILED, 1, "read-only-breach")
    assert verdict.reason == "read-only breach: added a.txt, modified b.txt"


def test_a_check_that_passed_does_not_excuse_it():
    assert judge(GOOD, ExitStatus(code=0), verified=True, breach=["added a"]).state is JobState.FAILED


def test_a_canceled_job_is_still_canceled():
    cut = Evidence()
    assert judge(cut, ExitStatus(signal=15), cancel=True, breach=["added a"]).state is JobState.CANCELED
