"""Claude Code's control protocol, against lines as 2.1.332 sent them."""

from __future__ import annotations

from typing import Any

from fakes.talks import drained
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.cli.render.session import question_lines
from outsourcerer.lanes.talk import pick
from outsourcerer.lanes.vehicles.claude_code.control import ClaudeTalk

WRITE = {
    "subtype": "can_use_tool",
    "tool_name": "Write",
    "input": {"file_path": "/repo/hello.txt", "content": "hi\n"},
    "description": "hello.txt",
    "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
    "tool_use_id": "toolu_1",
}
INIT = {"type": "system", "subtype": "init", "session_id": "82758fb7", "model": "claude-opus-5-5"}
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "session_id": "82758fb7"}


def ready() -> ClaudeTalk:
    talk = ClaudeTalk({})
    talk.open()
    talk.heard({"type": "control_response", "response": {"subtype": "success", "request_id": "osrc-1"}})
    assert drained(talk) == [{"type": "state", "state": "idle", "evidence": "initialize"}]
    assert talk.out.pop()["request"] == {"subtype": "initialize"}
    return talk


def at_work() -> ClaudeTalk:
    talk = ready()
    talk.send(3, "hello\n- \x00")
    assert talk.out.pop()["message"]["content"] == [{"type": "text", "text": "hello\n- \x00"}]
    talk.written(3)
    talk.heard({"type": "user", "message": {"role": "user", "content": "x"}, "isReplay": True})
    talk.heard(INIT)
    talk.heard(INIT)
    states = [event["state"] for event in drained(talk) if event["type"] in ("delivery", "state")]
    assert states == ["written", "seen", "turn-started", "working"]
    return talk


def test_a_turn_is_told_once_and_ends_with_its_answer() -> None:
    talk = at_work()
    said = {"model": "claude-opus-5-5", "content": [{"type": "text", "text": "I \x1b[31mwill\x1b[0m."}]}
    talk.heard({"type": "assistant", "message": said})
    talk.heard(RESULT)
    kinds = [event["type"] for event in drained(talk)]
    assert kinds == ["start", "text", "end", "state"]
    assert talk.turn == 0


def test_a_permission_is_asked_and_granted_with_the_same_input() -> None:
    talk = at_work()
    talk.heard({"type": "control_request", "request_id": "r1", "request": WRITE})
    asked, state = drained(talk)
    assert (asked["request"], asked["tool"], asked["target"]) == ("r1", "write", "/repo/hello.txt")
    assert [row["kind"] for row in asked["options"]] == ["allow_once", "allow_always", "reject_once"]
    assert state["state"] == "waiting-approval"
    talk.answer(4, "always", None)
    response = talk.out.pop()["response"]
    assert response["response"]["updatedInput"] == WRITE["input"]
    assert response["response"]["updatedPermissions"] == WRITE["permission_suggestions"]
    assert [event.get("state") for event in drained(talk)] == ["done", None, "working"]


def test_a_refusal_may_have_words_and_its_result_is_a_denial() -> None:
    talk = at_work()
    talk.heard({"type": "control_request", "request_id": "r1", "request": WRITE})
    talk.answer(4, "use another name", "r1")
    assert talk.out.pop()["response"]["response"] == {"behavior": "deny", "message": "use another name"}
    drained(talk)
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "use another name"}
    talk.heard({"type": "user", "message": {"content": [block]}})
    (end,) = drained(talk)
    assert (end["ok"], end["denied"]) == (False, True)


def test_an_answer_to_what_is_not_asked_any_more_is_refused() -> None:
    talk = at_work()
    talk.heard({"type": "control_request", "request_id": "r1", "request": WRITE})
    talk.heard({"type": "control_cancel_request", "request_id": "r1"})
    drained(talk)
    talk.answer(4, "yes", "r1")
    talk.answer(5, "yes", None)
    assert [(event["number"], event["state"]) for event in drained(talk)] == [(4, "refused"), (5, "refused")]
    assert talk.out == []


def test_a_question_of_the_models_own_is_answered_in_words() -> None:
    talk = at_work()
    rows = [{"question": "Which one?", "options": [{"label": "Red"}, {"label": "Blue"}]}]
    request = {"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": {"questions": rows}}
    talk.heard({"type": "control_request", "request_id": "q", "request": request})
    asked = drained(talk)[0]
    assert (asked["title"], [row["label"] for row in asked["options"]]) == ("Which one?", ["Red", "Blue"])
    talk.answer(4, "2", None)
    assert talk.out.pop()["response"]["response"]["updatedInput"]["answers"] == {"Which one?": "Blue"}


def test_an_interrupted_turn_is_no_failure_of_the_task() -> None:
    talk = at_work()
    talk.interrupt(4)
    name = talk.out.pop()["request_id"]
    talk.heard({"type": "control_response", "response": {"subtype": "success", "request_id": name}})
    talk.heard(
        {**RESULT, "is_error": True, "subtype": "error_during_execution", "terminal_reason": "aborted_streaming"}
    )
    delivery, end, state = drained(talk)
    assert (delivery["state"], end["failure"], state["state"]) == ("done", "interrupted", "idle")


def test_what_the_limits_are_is_told() -> None:
    talk = at_work()
    info = {"status": "rejected", "unifiedWindows": {"five_hour": {"utilization": 1.0, "resetsAt": 1796031524}}}
    talk.heard({"type": "rate_limit_event", "rate_limit_info": info})
    (told,) = drained(talk)
    assert told["rejected"] is True
    assert told["windows"] == [{"name": "five_hour", "utilization": 1.0, "resets_at": 1796031524.0}]


def test_a_model_that_is_not_to_be_had_is_refused_in_its_words() -> None:
    talk = ready()
    talk.set_model(4, "no-such")
    name = talk.out.pop()["request_id"]
    response = {"subtype": "error", "request_id": name, "error": "Unknown model"}
    talk.heard({"type": "control_response", "response": response})
    assert drained(talk) == [{"type": "delivery", "number": 4, "state": "refused", "reason": "Unknown model"}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(
    [
        "control_response",
        "control_request",
        "control_cancel_request",
        "system",
        "user",
        "assistant",
        "rate_limit_event",
        "result",
        "x",
    ]
)
FIELDS = ["message", "request", "response", "request_id", "subtype", "rate_limit_info", "usage", "errors", "content"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(KINDS, st.dictionaries(st.sampled_from(FIELDS), JSON)), max_size=6))
def test_whatever_it_sends_nothing_is_raised(messages: list[tuple[str, dict[str, Any]]]) -> None:
    talk = ClaudeTalk({})
    talk.send(1, "x")
    for kind, fields in messages:
        talk.heard({"type": kind, **fields})
    talk.answer(2, "yes", None)


def test_a_choice_is_an_id_a_label_a_number_or_a_kind() -> None:
    rows = [
        {"id": "proceed_once", "kind": "allow_once", "label": "Allow"},
        {"id": "2", "kind": "reject_once", "label": "No, suggest changes"},
    ]
    for word, found in (
        ("proceed_once", 0),
        ("allow", 0),
        ("yes", 0),
        ("1", 0),
        ("2", 1),
        ("no", 1),
        ("reject_once", 1),
    ):
        assert pick(rows, word) is rows[found], word
    assert pick(rows, "always") is None
    assert pick(rows, "3") is None
    assert pick([], "yes") is None


def test_a_choice_is_what_was_shown_whatever_an_agent_calls_it() -> None:
    rows = [
        {"id": "0", "kind": "reject_once", "label": "2"},
        {"id": "1", "kind": "allow_once", "label": "no"},
        {"id": "no", "kind": "allow_always", "label": "Deny"},
    ]
    for word, found in (("1", 0), ("2", 1), ("3", 2), ("0", 0), ("no", 0), ("yes", 1), ("always", 2)):
        assert pick(rows, word) is rows[found], word


COMMAND = "echo " + "a" * 900 + "  # all is well\nrm -rf /important"


def test_what_is_to_be_allowed_is_told_and_shown_whole() -> None:
    talk = ready()
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": COMMAND}}
    talk.heard({"type": "control_request", "request_id": "r1", "request": request})
    ask = next(event for event in talk.events if event["type"] == "ask")
    assert ask["target"] == COMMAND
    assert question_lines(ask)[1] == "       rm -rf /important"
    # A number that is not offered is no words: it is refused, and still asked.
    talk.answer(1, "7", None)
    assert (talk.events[-1]["state"], "'7' is no option" in talk.events[-1]["reason"]) == ("refused", True)
    talk.answer(2, "use ls instead", None)
    assert not talk.asked
