"""Codex's app-server and pi's rpc, message by message, as the real ones sent them; modes; whatever any of them sends."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.talks import drained, kinds, sent
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.talk import BaseTalk
from outsourcerer.lanes.vehicles.acp.client import AcpTalk
from outsourcerer.lanes.vehicles.claude_code.control import ClaudeTalk
from outsourcerer.lanes.vehicles.codex_cli.app_server import CodexTalk
from outsourcerer.lanes.vehicles.pi_cli.rpc import PiTalk

# --- Codex


def codex(**options: str | None) -> CodexTalk:
    talk = CodexTalk({"cwd": "/repo", **options})
    talk.open()
    assert [row["method"] for row in sent(talk)] == ["initialize"]
    talk.heard({"id": 1, "result": {}})
    greeting, opening = sent(talk)
    assert greeting == {"method": "initialized"}
    resumed = options.get("conversation") is not None
    assert opening["method"] == ("thread/resume" if resumed else "thread/start")
    assert (opening["params"]["approvalPolicy"], opening["params"]["sandbox"]) == ("on-request", "read-only")
    talk.heard({"id": 2, "result": {"thread": {"id": "t1"}, "model": "gpt-5.5"}})
    assert kinds(talk) == ["start", "announced", "idle"]
    return talk


def codex_at_work() -> CodexTalk:
    talk = codex()
    talk.send(4, "do it")
    (start,) = sent(talk)
    assert start["params"]["input"] == [{"type": "text", "text": "do it"}]
    talk.heard({"id": start["id"], "result": {"turn": {"id": "u1"}}})
    talk.heard({"method": "turn/started", "params": {"turn": {"id": "u1"}}})
    assert kinds(talk) == ["seen", "turn-started", "working"]
    return talk


def test_codex_asks_about_a_file_by_its_name_and_is_answered_with_its_own_id() -> None:
    talk = codex_at_work()
    change = {"type": "fileChange", "id": "c1", "changes": [{"path": "/repo/a.txt"}], "status": "inProgress"}
    change["changes"].append({"path": "/etc/b"})  # who allows it allows all of it
    talk.heard({"method": "item/started", "params": {"item": change}})
    talk.heard({"method": "item/fileChange/requestApproval", "id": 0, "params": {"itemId": "c1", "reason": None}})
    tool, asked, _ = drained(talk)
    assert (tool["tool"], tool["target"]) == ("write", "/repo/a.txt")
    assert (asked["request"], asked["target"]) == ("0", "/repo/a.txt\n/etc/b")
    talk.answer(5, "yes", "0")
    assert sent(talk) == [{"id": 0, "result": {"decision": "accept"}}]
    talk.heard({"method": "serverRequest/resolved", "params": {"requestId": 0}})
    assert kinds(talk) == ["done", "answered", "working"]
    talk.heard({"method": "item/completed", "params": {"item": {**change, "status": "declined"}}})
    assert drained(talk)[0]["denied"] is True


def test_codex_tells_its_plan_and_ends_a_turn_once() -> None:
    talk = codex_at_work()
    limits = {"primary": {"usedPercent": 43, "resetsAt": 1796031794}, "secondary": {"usedPercent": 100}}
    talk.heard({"method": "account/rateLimits/updated", "params": {"rateLimits": limits}})
    (told,) = drained(talk)
    assert [row["utilization"] for row in told["windows"]] == [0.43, 1.0]
    talk.heard({"method": "item/completed", "params": {"item": {"type": "agentMessage", "text": "Done."}}})
    talk.heard({"method": "turn/completed", "params": {"turn": {"status": "completed"}}})
    text, end, state = drained(talk)
    assert (text["text"], end["text"], state["state"]) == ("Done.", "Done.", "idle")


def test_codex_is_interrupted_even_before_its_turn_has_an_id() -> None:
    talk = codex()
    talk.send(4, "x")
    (start,) = sent(talk)
    talk.interrupt(5)
    assert sent(talk) == []
    talk.heard({"id": start["id"], "result": {"turn": {"id": "u1"}}})
    (stop,) = sent(talk)
    assert (stop["method"], stop["params"]["turnId"]) == ("turn/interrupt", "u1")
    talk.heard({"id": stop["id"], "result": {}})
    talk.heard({"method": "turn/completed", "params": {"turn": {"status": "interrupted"}}})
    assert [event["failure"] for event in drained(talk) if event["type"] == "end"] == ["interrupted"]


PAUSE = (
    "2026-11-30T16:15:10.327266Z  WARN codex_core::responses_retry: stream disconnected - retrying sampling request "
    "(1/5 in 3599.9s)... retries=1 sampling_error=exceeded retry limit, last status: 429 Too Many Requests"
)


def test_codex_is_not_left_to_sleep_until_a_limit_ends() -> None:
    talk = codex_at_work()
    talk.logged(PAUSE.replace("3599.9s", "2.1s"))
    talk.logged(PAUSE.replace("codex_core::responses_retry", "another"))
    assert sent(talk) == []
    talk.logged(PAUSE)
    talk.logged(PAUSE)
    (stop,) = sent(talk)
    assert stop["method"] == "turn/interrupt"
    talk.heard({"id": stop["id"], "result": {}})
    talk.heard({"method": "turn/completed", "params": {"turn": {"status": "interrupted"}}})
    told = drained(talk)
    assert [row["type"] for row in told] == ["end", "state"]
    assert (told[0]["ok"], told[0]["failure"]) == (False, "plan-limit")
    assert told[0]["until"] == pytest.approx(1796058909.3, abs=1)
    talk.logged(PAUSE)
    assert sent(talk) == []  # no turn runs


def test_codex_takes_a_model_and_an_effort_with_the_next_turn() -> None:
    talk = codex(effort="low", conversation="t1")
    talk.set_model(4, "gpt-6-sol")
    talk.set_effort(5, "high")
    assert sent(talk) == []
    talk.send(6, "x")
    (start,) = sent(talk)
    assert (start["params"]["model"], start["params"]["effort"]) == ("gpt-6-sol", "high")
    talk.heard({"id": start["id"], "error": {"code": -32600, "message": "no such model"}})
    assert [event["state"] for event in drained(talk) if event["type"] == "delivery"][-1] == "failed"


def test_codex_fails_a_turn_by_its_own_words() -> None:
    talk = codex_at_work()
    info = {"responseTooManyFailedAttempts": {"httpStatusCode": 429}}
    turn = {"status": "failed", "error": {"message": "exceeded", "codexErrorInfo": info}}
    talk.heard({"method": "turn/completed", "params": {"turn": turn}})
    assert drained(talk)[0]["failure"] == "rate-limit"


# --- pi


def pi() -> PiTalk:
    talk = PiTalk({"provider": None})
    talk.open()
    assert [row["type"] for row in sent(talk)] == ["get_state"]
    data = {"model": {"id": "m", "provider": "stub"}, "sessionId": "s1"}
    talk.heard({"id": "osrc-1", "type": "response", "command": "get_state", "success": True, "data": data})
    assert kinds(talk) == ["start", "announced", "idle"]
    return talk


def test_pi_has_a_turn_of_several_messages_and_sums_their_tokens() -> None:
    talk = pi()
    talk.send(3, "go")
    talk.heard({"id": "osrc-2", "type": "response", "command": "prompt", "success": True})
    talk.heard({"type": "agent_start"})
    assert kinds(talk) == ["seen", "turn-started", "working"]
    for text, reason in (("I write.", "toolUse"), ("Done.", "stop")):
        message = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": text}], "stopReason": reason}
        talk.heard({"type": "message_end", "message": message | {"usage": {"input": 10, "output": 5}}})
    talk.heard({"type": "tool_execution_start", "toolName": "bash", "args": {"command": "ls"}})
    talk.heard({"type": "agent_end"})
    told = drained(talk)
    assert [event["input"] for event in told if event["type"] == "usage"] == [10, 20]
    assert [event["text"] for event in told if event["type"] == "end"] == ["Done."]
    assert {"type": "tool", "tool": "execute", "name": "bash", "target": "ls"} in told


def test_pi_tells_an_error_that_its_exit_code_hides() -> None:
    talk = pi()
    talk.send(3, "go")
    talk.heard({"type": "agent_start"})
    failed = {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "401 Unauthorized"}
    talk.heard({"type": "message_end", "message": failed})
    talk.heard({"type": "agent_end"})
    assert [event["failure"] for event in drained(talk) if event["type"] == "end"] == ["auth"]


def test_pi_switches_to_a_model_of_the_provider_in_use() -> None:
    talk = pi()
    talk.set_model(4, "other")
    assert sent(talk)[-1]["provider"] == "stub"
    talk.set_model(5, "openrouter/z-ai/glm-5.2")
    assert (sent(talk)[-1]["provider"]) == "openrouter"
    talk.heard({"id": "osrc-2", "type": "response", "command": "set_model", "success": False, "error": "no such model"})
    assert drained(talk)[-1]["reason"] == "no such model"
    talk.interrupt(6)
    assert sent(talk)[-1]["type"] == "abort"


def test_pi_passes_an_extension_s_question_on() -> None:
    talk = pi()
    talk.heard({"type": "extension_ui_request", "id": "q1", "method": "confirm", "title": "Sure?"})
    assert drained(talk)[0]["title"] == "Sure?"
    talk.answer(4, "no", None)
    assert sent(talk)[-1] == {"type": "extension_ui_response", "id": "q1", "confirmed": False}
    assert kinds(talk) == ["done", "answered", "idle"]
    talk.heard({"type": "extension_ui_request", "id": "n", "method": "notify"})
    assert drained(talk) == []


# --- modes


def test_codex_takes_a_mode_with_the_next_turn() -> None:
    for mode, (approval, sandbox) in {
        "plan": ("never", "readOnly"),
        "ask": ("on-request", "readOnly"),
        "edits": ("on-request", "workspaceWrite"),
        "yolo": ("never", "dangerFullAccess"),
    }.items():
        talk = codex()
        talk.set_mode(5, mode)
        assert drained(talk)[0] == {"type": "switched", "mode": mode}
        talk.send(6, "x")
        (start,) = sent(talk)
        assert start["params"]["approvalPolicy"] == approval
        assert start["params"]["sandboxPolicy"] == {"type": sandbox}


def test_claude_is_told_its_mode_and_may_refuse_it() -> None:
    talk = ClaudeTalk({})
    for mode, name in {"plan": "plan", "ask": "manual", "edits": "acceptEdits", "yolo": "bypassPermissions"}.items():
        talk.set_mode(5, mode)
        (asked,) = sent(talk)
        assert asked["request"] == {"subtype": "set_permission_mode", "mode": name}
        good = mode != "yolo"
        response = {"request_id": asked["request_id"], "subtype": "success" if good else "error", "error": "Cannot set"}
        talk.heard({"type": "control_response", "response": response})
        told = drained(talk)
        assert told[-1]["state"] == ("done" if good else "refused")
        assert ({"type": "switched", "mode": mode} in told) is good


def test_a_program_without_modes_says_so() -> None:
    talk = PiTalk({})
    talk.set_mode(5, "plan")
    assert [(row["state"], row["number"]) for row in drained(talk)] == [("refused", 5)]


# --- whatever they send

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = [
    "method", "params", "id", "result", "error", "type", "message", "command", "success", "data", "update", "item",
    "turn", "toolCall", "options", "requestId", "sessionUpdate", "content", "thread", "model", "configOptions",
]  # fmt: skip
METHODS = [
    "session/update", "session/request_permission", "item/completed", "item/started", "turn/completed", "turn/started",
    "item/fileChange/requestApproval", "account/rateLimits/updated", "thread/tokenUsage/updated", "turn/plan/updated",
    "serverRequest/resolved", "error", "response", "message_end", "agent_end", "extension_ui_request",
    "tool_execution_end", "agent_message_chunk", "tool_call_update", "usage_update", "plan",
]  # fmt: skip
VALUES = JSON | st.sampled_from(METHODS) | st.dictionaries(st.sampled_from(NAMES), JSON | st.sampled_from(METHODS))


@pytest.mark.parametrize("make", [ClaudeTalk, CodexTalk, PiTalk, AcpTalk])
@settings(max_examples=60, deadline=None)
@given(messages=st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6), max_size=5))
def test_no_message_makes_them_raise(make: type[BaseTalk], messages: list[dict[str, Any]]) -> None:
    talk: Any = make({})
    talk.open()
    talk.send(1, "x")
    for message in messages:
        talk.heard(message)
    talk.answer(2, "yes", None)
    talk.interrupt(3)
