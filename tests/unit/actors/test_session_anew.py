"""Which sessions are started anew for another effort."""

from dataclasses import replace

import pytest
from outsourcerer.actors.session_anew import has_effort, why_not_anew
from outsourcerer.actors.session_intake import choose_transport
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.refusals import Refused
from outsourcerer.messages.session import SessionRecord, SessionRequest
from outsourcerer.messages.vocabulary import Effort, SessionState


def record(**more):
    known = {"session_id": "20261130-120000-0123456789ab", "name": "one", "lane": "claude", "vehicle": "claude"}
    known |= {
        "transport": "pty",
        "cwd": "/work",
        "state": SessionState.IDLE,
        "conversation": "0a1b",
        "accepted_at": 1.0,
    }
    return SessionRecord(**{**known, **more})


def why(lane="claude", **more):
    return why_not_anew(record(**more), builtin(lane), Effort.HIGH)


def test_an_idle_one_whose_conversation_is_known_is():
    assert why() is None


@pytest.mark.parametrize("state", [SessionState.WORKING, SessionState.WAITING_APPROVAL, SessionState.STARTING])
def test_one_at_work_is_not(state):
    refused = why(state=state)
    assert (refused.code, state in refused.message) == ("not_finished", True)


def test_one_that_can_not_go_on_is_not_ended():
    refused = why(conversation=None)
    assert ("conversation" in refused.message, "--effort high" in refused.hint) == (True, True)


@pytest.mark.parametrize(
    ("lane", "there"),
    [("claude", True), ("codex", True), ("pi", True), ("cline", True), ("gemini", False), ("qwen", False)],
)
def test_which_interfaces_have_a_flag_for_it(lane, there):
    assert has_effort(builtin(lane), "pty", Effort.LOW) is there
    if not there:
        assert "takes no effort" in why(lane).message


def test_a_lane_with_a_terminal_has_a_pane_too_and_no_other():
    asked = SessionRequest(cwd="/work", transport="tmux")
    assert choose_transport(asked, builtin("claude"), None) == "tmux"
    assert (
        has_effort(builtin("claude"), "tmux", Effort.HIGH) is has_effort(builtin("claude"), "pty", Effort.HIGH) is True
    )
    without = replace(builtin("claude"), sessions={"acp": builtin("claude").sessions["acp"]})
    refused = choose_transport(asked, without, None)
    assert isinstance(refused, Refused)
    assert "has no tmux sessions" in refused.message
