"""What a session is doing: every rule, and that nothing is ever made up."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.fleet_match import Match, Program, Script, match, without_transcript
from outsourcerer.lanes.fleet_state import STUCK_S, Life, Presence, Signs, judge, of_own
from outsourcerer.lanes.transcripts.tail import Speaker, Tail, Turn
from outsourcerer.messages.fleet import FleetState
from outsourcerer.messages.vocabulary import JobState, SessionState

ASKED = Tail(speaker=Speaker.USER, turn=Turn.OPEN)
AT_TOOL = Tail(speaker=Speaker.ASSISTANT, turn=Turn.OPEN, tools={"c": "Bash"})
QUESTION = Tail(speaker=Speaker.ASSISTANT, turn=Turn.OPEN, tools={"c": "AskUser"}, asked="AskUser")
ENDED = Tail(speaker=Speaker.ASSISTANT, turn=Turn.ENDED)
FAILED = Tail(turn=Turn.FAILED, error="quota is used up")
BROKEN = Tail(turn=Turn.ABORTED)
BUSY, IDLE = Presence(status="busy", since_s=5.0), Presence(status="idle", since_s=5.0)
LONG = STUCK_S + 1
S = FleetState

RULES = [
    # alive, by its own word
    (Life.ALIVE, ASKED, Presence(status="waiting", waiting_for="permission prompt"), 1.0, False, S.WAITING),
    (Life.ALIVE, ASKED, Presence(status="waiting"), 1.0, False, S.WAITING),
    (Life.ALIVE, QUESTION, BUSY, 1.0, False, S.WAITING),
    (Life.ALIVE, QUESTION, IDLE, 1.0, False, S.IDLE),
    (Life.ALIVE, ASKED, BUSY, 1.0, False, S.WORKING),
    (Life.ALIVE, None, BUSY, None, False, S.WORKING),
    (Life.ALIVE, ASKED, Presence(status="busy", since_s=LONG), LONG, False, S.STUCK),
    (Life.ALIVE, ASKED, Presence(status="busy", since_s=LONG), 5.0, False, S.WORKING),
    (Life.ALIVE, ASKED, Presence(status="busy", since_s=LONG), LONG, True, S.WORKING),
    (Life.ALIVE, ASKED, Presence(status="busy"), None, False, S.WORKING),
    (Life.ALIVE, ENDED, Presence(status="idle", since_s=9e6), 9e6, False, S.IDLE),
    # alive, by its transcript
    (Life.ALIVE, ASKED, None, 1.0, False, S.WORKING),
    (Life.ALIVE, AT_TOOL, None, LONG, False, S.STUCK),
    (Life.ALIVE, AT_TOOL, None, LONG, True, S.WORKING),
    (Life.ALIVE, AT_TOOL, None, None, False, S.WORKING),
    (Life.ALIVE, QUESTION, None, LONG, False, S.WAITING),
    (Life.ALIVE, ENDED, None, 9e6, False, S.IDLE),
    (Life.ALIVE, BROKEN, None, 1.0, False, S.IDLE),
    (Life.ALIVE, FAILED, None, 1.0, False, S.WAITING),
    (Life.ALIVE, FAILED, Presence(status="a new word"), 1.0, False, S.WAITING),
    (Life.ALIVE, None, None, None, False, S.UNKNOWN),
    (Life.ALIVE, Tail(), None, 1.0, True, S.UNKNOWN),
    # stopped by a signal
    (Life.STOPPED, ENDED, IDLE, 1.0, False, S.STUCK),
    # dead
    (Life.DEAD, FAILED, None, 1.0, False, S.FAILED),
    (Life.DEAD, ENDED, None, 1.0, False, S.DONE),
    (Life.DEAD, ASKED, None, 1.0, False, S.STOPPED),
    (Life.DEAD, AT_TOOL, None, 1.0, False, S.STOPPED),
    (Life.DEAD, QUESTION, None, 1.0, False, S.STOPPED),
    (Life.DEAD, BROKEN, None, 1.0, False, S.STOPPED),
    (Life.DEAD, None, None, None, False, S.UNKNOWN),
    (Life.DEAD, Tail(), None, 1.0, False, S.UNKNOWN),
    # not known
    (Life.UNKNOWN, ENDED, None, 1.0, False, S.UNKNOWN),
]


@pytest.mark.parametrize(("life", "tail", "presence", "quiet_s", "busy", "state"), RULES)
def test_each_rule(life, tail, presence, quiet_s, busy, state):
    judged = judge(Signs(life=life, tail=tail, presence=presence, quiet_s=quiet_s, busy=busy))
    assert judged.state is state
    assert judged.evidence


TAILS = st.sampled_from([None, Tail(), ASKED, AT_TOOL, QUESTION, ENDED, FAILED, BROKEN])
NUMBERS = st.none() | st.floats(-1e9, 1e9)


@settings(max_examples=60, deadline=None)
@given(
    life=st.sampled_from(Life),
    tail=TAILS,
    status=st.sampled_from([None, "busy", "idle", "waiting", "nonsense"]),
    since=NUMBERS,
    quiet=NUMBERS,
    busy=st.booleans(),
)
def test_a_dead_one_never_lives_and_a_living_one_is_never_over(life, tail, status, since, quiet, busy):
    presence = Presence(status=status, since_s=since) if status else None
    state = judge(Signs(life=life, tail=tail, presence=presence, quiet_s=quiet, busy=busy)).state
    over = {S.DONE, S.STOPPED, S.FAILED}
    if life is Life.DEAD:
        assert state in over | {S.UNKNOWN}
    else:
        assert state not in over
    if state is S.STUCK and life is Life.ALIVE:
        assert not busy


def test_what_a_screen_asks_is_believed_of_a_living_one_only():
    signs = Signs(life=Life.ALIVE, tail=AT_TOOL, quiet_s=1.0, on_screen="Would you like to make the following edits?")
    assert judge(signs).state is S.WAITING
    assert "following edits" in judge(signs).evidence
    assert judge(replace(signs, life=Life.DEAD)).state is S.STOPPED


def test_every_state_of_ours_has_a_word():
    unknown = {state for state in (*JobState, *SessionState) if of_own(state.value) is S.UNKNOWN}
    assert unknown == {SessionState.UNKNOWN}
    assert of_own(None) is of_own("of a newer version") is S.UNKNOWN
    assert {state.label for state in S} == {
        "Working", "Waiting on you", "Maybe stuck", "Idle", "Done", "Stopped mid-task", "Failed", "Unknown",
    }  # fmt: skip


def program(pid=1, **more):
    return Program(**{"pid": pid, "tool": "codex", "cwd": "/w", "started_at": 100.0, **more})


def script(key="a", **more):
    return Script(**{"key": key, "tool": "codex", "session_id": key, "cwd": "/w", "written_at": 200.0, **more})


DEAD, UNKNOWN, ALIVE = Match(Life.DEAD), Match(Life.UNKNOWN), Match(Life.ALIVE, 1)


@pytest.mark.parametrize(
    ("programs", "scripts", "found"),
    [
        ([], [script()], {"a": DEAD}),
        ([program()], [script()], {"a": ALIVE}),
        ([program(tool="pi")], [script()], {"a": DEAD}),
        ([program(cwd="/elsewhere")], [script()], {"a": DEAD}),
        ([program()], [script(written_at=50.0)], {"a": DEAD}),
        ([program()], [script(written_at=99.0)], {"a": ALIVE}),
        ([program()], [script(closed=True)], {"a": DEAD}),
        ([program(cwd="/else", words=frozenset({"a"}))], [script()], {"a": ALIVE}),
        ([program(cwd="/else", open_files=frozenset({"/t"}))], [script(path="/t", written_at=1.0)], {"a": ALIVE}),
        ([program(session_id="a", cwd="/else")], [script()], {"a": ALIVE}),
        ([program(session_id="other")], [script()], {"a": DEAD}),
        ([program()], [script(pid=1)], {"a": ALIVE}),
        ([program()], [script(pid=1, written_at=1.0, cwd="/old")], {"a": DEAD}),
        ([program()], [script("a"), script("b", written_at=300.0)], {"a": DEAD, "b": ALIVE}),
        ([program(1), program(2)], [script()], {"a": Match(Life.ALIVE)}),
        ([program(1, cwd=None)], [script()], {"a": UNKNOWN}),
        ([program(1)], [script(cwd=None)], {"a": UNKNOWN}),
        ([program(1)], [script(cwd=None, written_at=1.0)], {"a": DEAD}),
        (
            [program(1, words=frozenset({"a"})), program(2)],
            [script("a"), script("b", written_at=150.0)],
            {"a": ALIVE, "b": Match(Life.ALIVE, 2)},
        ),
    ],
)
def test_which_process_writes_which_transcript(programs, scripts, found):
    assert match(programs, scripts) == found


def test_programs_without_a_transcript_are_told_apart_from_those_that_share_one():
    programs = [program(1, started_at=10.0), program(2, started_at=20.0), program(3, cwd="/x")]
    scripts = [script()]
    assert [one.pid for one in without_transcript(programs, scripts, match(programs, scripts))] == [2, 3]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_process_is_never_given_to_two_transcripts(data):
    places = st.sampled_from(["/w", "/x", None])
    programs = [
        program(pid, cwd=data.draw(places), words=frozenset(data.draw(st.lists(st.sampled_from("abc"), max_size=2))))
        for pid in range(1, data.draw(st.integers(1, 4)))
    ]
    times = st.floats(0, 300)
    scripts = [script(key, cwd=data.draw(places), written_at=data.draw(times)) for key in "abc"]
    found = match(programs, scripts)
    assert set(found) == {"a", "b", "c"}
    pids = [one.pid for one in found.values() if one.pid is not None]
    assert len(pids) == len(set(pids))
    alive = sum(one.life is Life.ALIVE for one in found.values())
    assert alive <= len(programs)
