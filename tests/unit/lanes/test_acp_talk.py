"""The Agent Client Protocol, message by message, as real agents sent them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fakes.talks import drained, kinds, sent
from outsourcerer.lanes.vehicles.acp.client import AcpTalk

OPENED = {
    "sessionId": "s1",
    "modes": {"currentModeId": "auto", "availableModes": [{"id": "auto"}, {"id": "default"}]},
    "models": {"currentModelId": "m1", "availableModels": [{"modelId": "m1"}, {"modelId": "m2"}]},
}
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "cancel", "name": "No", "kind": "reject_once"},
]


def acp(can: dict[str, Any] | None = None, **options: str | None) -> AcpTalk:
    talk = AcpTalk({"cwd": "/repo", **options})
    talk.open()
    (hello,) = sent(talk)
    assert hello["params"]["clientCapabilities"]["fs"] == {"readTextFile": False, "writeTextFile": False}
    talk.heard({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1, "agentCapabilities": can or {}}})
    return talk


def acp_idle(**options: str | None) -> AcpTalk:
    talk = acp(**options)
    (new,) = sent(talk)
    assert new["method"] == "session/new"
    talk.heard({"id": 2, "result": OPENED})
    (mode,) = sent(talk)
    assert (mode["method"], mode["params"]["modeId"]) == ("session/set_mode", "default"), "one that asks"
    talk.heard({"id": 3, "result": {}})
    if options.get("model"):
        (model,) = sent(talk)
        assert model["params"]["modelId"] == options["model"]
        talk.heard({"id": 4, "result": {}})
    assert kinds(talk)[-1] == "idle"
    return talk


def acp_at_work() -> AcpTalk:
    talk = acp_idle()
    talk.send(3, "go")
    (prompt,) = sent(talk)
    assert prompt["params"]["prompt"] == [{"type": "text", "text": "go"}]
    assert kinds(talk) == ["working"]
    return talk


SPENT = "[API Error: You have exhausted your daily quota on this model.]"


def test_an_agent_that_complains_of_its_plan_and_says_nothing_ends_its_turn() -> None:
    talk = acp_at_work()
    talk.logged("some news about quotas in general")
    assert sent(talk) == []
    talk.logged(SPENT)
    assert [row["method"] for row in sent(talk)] == ["session/cancel"]
    talk.heard({"id": 4, "result": {"stopReason": "cancelled"}})
    ends = [row for row in drained(talk) if row["type"] == "end"]
    assert [(row["ok"], row["failure"]) for row in ends] == [(False, "plan-limit")]


@pytest.mark.parametrize("words", ["Retrying in 5s (attempt 3)", None])
def test_an_agent_that_says_nothing_for_long_is_not_said_to_work(words: str | None) -> None:
    talk = acp_at_work()
    talk.waited(59.0)
    if words is not None:
        talk.logged(words)
        talk.logged("   ")
    talk.waited(59.9)
    assert drained(talk) == []
    for seconds in (60.5, 61.0, 299.0):
        talk.waited(seconds)
    told = drained(talk)
    if words is not None:
        assert [(row["state"], words in row["evidence"]) for row in told] == [("unknown", True)]
    talk.waited(300.0)
    assert words is not None or [row["state"] for row in drained(talk)] == ["unknown"]
    # An interruption is still taken, and a word of it is work again.
    talk.interrupt(4)
    assert [row["method"] for row in sent(talk)] == ["session/cancel"]
    drained(talk)
    talk.heard(said("Here I am."))
    assert ("state", "working") in [(row["type"], row.get("state")) for row in drained(talk)]
    talk.waited(900.0)
    assert drained(talk) == []


def test_what_an_agent_prints_beside_a_turn_that_has_begun_is_nobodys_word() -> None:
    talk = acp_at_work()
    talk.heard(said("I read: "))
    talk.logged(SPENT)
    assert sent(talk) == []


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (("plan", "default", "auto-edit", "yolo", "auto"), {"plan": "plan", "ask": "default", "edits": "auto-edit"}),
        (("normal", "spec", "auto-low", "auto-high"), {"plan": "spec", "ask": "normal", "yolo": "auto-high"}),
        (("read-only", "auto", "full-access"), {"ask": "read-only", "edits": None, "yolo": "full-access"}),
        (("plan", "act"), {"plan": "plan", "ask": "act", "edits": None, "yolo": None}),
    ],
)
def test_an_agents_own_mode_of_that_meaning_is_set(there: tuple[str, ...], words: dict[str, str | None]) -> None:
    for mode, name in words.items():
        talk = acp()
        sent(talk)
        modes = {"currentModeId": "other", "availableModes": [{"id": one} for one in there]}
        talk.heard({"id": 2, "result": {"sessionId": "s1", "modes": modes}})
        for request in sent(talk):
            talk.heard({"id": request["id"], "result": {}})
        drained(talk)
        talk.set_mode(7, mode)
        if name is None:
            (refused,) = drained(talk)
            assert (refused["state"], refused["number"]) == ("refused", 7)
            assert there[0] in refused["reason"]
            continue
        (request,) = sent(talk)
        assert (request["method"], request["params"]["modeId"]) == ("session/set_mode", name)
        talk.heard({"id": request["id"], "result": {}})
        assert drained(talk) == [
            {"type": "switched", "mode": mode},
            {"type": "delivery", "number": 7, "state": "done"},
        ]


def update(**fields: Any) -> dict[str, Any]:
    return {"method": "session/update", "params": {"sessionId": "s1", "update": fields}}


def said(text: str) -> dict[str, Any]:
    return update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def test_acp_has_its_receipt_with_the_first_update_and_whole_messages() -> None:
    talk = acp_at_work()
    talk.heard(said("two "))
    talk.heard(said("words"))
    talk.heard(update(sessionUpdate="plan", entries=[{"content": "look", "status": "pending"}]))
    talk.heard({"id": 4, "result": {"stopReason": "end_turn"}})
    told = drained(talk)
    assert [event["state"] for event in told if event["type"] == "delivery"] == ["turn-started"]
    assert [event["text"] for event in told if event["type"] == "text"] == ["two words"]
    assert [event["entries"] for event in told if event["type"] == "plan"] == [[{"text": "look", "status": "pending"}]]
    assert told[-1]["state"] == "idle"


def test_an_acp_answer_that_is_too_long_to_be_read_ends_its_turn() -> None:
    talk = acp_at_work()
    number = next(one for one, (method, _, _) in talk._requests.items() if method == "session/prompt")
    talk.unread(f'{{"jsonrpc":"2.0","method":"session/update","params":{{"id":{number},', 20_000_000)
    assert kinds(talk) == ["notice"]
    talk.unread(f'{{"jsonrpc":"2.0","id":{number},"result":{{"_meta":"xxx', 20_000_000)
    notice, end, *_ = [event for event in drained(talk) if event["type"] in ("notice", "end")]
    assert notice["text"] == "a message of 20000000 bytes was left out"
    assert (end["ok"], end["message"]) == (False, "its answer of 20000000 bytes is too long to be read")
    assert talk.turn == 0


def test_acp_options_are_picked_by_kind_and_a_refusal_is_a_denial() -> None:
    talk = acp_at_work()
    call = {"toolCallId": "c1", "kind": "execute", "title": "rm x", "rawInput": {"command": "rm x"}}
    for word, option in (("yes", "once"), ("always", "always"), ("no", "cancel")):
        talk.heard({"id": 9, "method": "session/request_permission", "params": {"toolCall": call, "options": OPTIONS}})
        drained(talk)
        talk.answer(4, word, "9")
        assert sent(talk)[-1] == {
            "jsonrpc": "2.0", "id": 9, "result": {"outcome": {"outcome": "selected", "optionId": option}},
        }  # fmt: skip
    assert [event.get("denied") for event in drained(talk) if event["type"] == "tool_end"] == [True]
    talk.answer(5, "maybe", None)
    assert drained(talk)[-1]["state"] == "refused"


def test_acp_cancels_what_it_asked_too() -> None:
    talk = acp_at_work()
    call = {"toolCallId": "c1", "kind": "edit", "title": "a.txt"}
    talk.heard({"id": 9, "method": "session/request_permission", "params": {"toolCall": call, "options": OPTIONS}})
    talk.interrupt(4)
    cancel, answer = sent(talk)
    assert cancel["method"] == "session/cancel"
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    talk.heard({"id": 4, "result": {"stopReason": "cancelled"}})
    assert [event["failure"] for event in drained(talk) if event["type"] == "end"] == ["interrupted"]


def test_acp_has_only_the_models_that_it_offers() -> None:
    talk = acp_idle(model="m2")
    talk.set_model(4, "nope")
    assert re.search("no model nope .*m1, m2", drained(talk)[-1]["reason"])
    talk.set_effort(5, "high")
    assert drained(talk)[-1]["state"] == "refused"
    wrong = acp(model="nope")
    sent(wrong)
    wrong.heard({"id": 2, "result": OPENED})
    assert "no model nope" in str(wrong.fatal)


def test_acp_passes_what_one_agent_understands_and_says_an_effort_that_none_takes() -> None:
    talk = acp(meta='{"a": {"b": true}}', effort="high")
    (opening,) = [row for row in sent(talk) if row.get("method") == "session/new"]
    assert opening["params"]["_meta"] == {"a": {"b": True}}
    talk.heard({"id": opening["id"], "result": {"sessionId": "s1"}})
    assert "takes no effort high" in next(row["text"] for row in drained(talk) if row["type"] == "notice")


def test_acp_takes_up_a_session_where_the_agent_can_and_says_nothing_of_its_past() -> None:
    talk = acp({"loadSession": True}, conversation="s9")
    (load,) = sent(talk)
    assert (load["method"], load["params"]["sessionId"]) == ("session/load", "s9")
    talk.heard(said("what was said before"))
    talk.heard({"id": 2, "result": {}})
    assert kinds(talk) == ["start", "announced", "idle"]
    resumed = acp({"loadSession": True, "sessionCapabilities": {"resume": {}}}, conversation="s9")
    assert sent(resumed)[0]["method"] == "session/resume"
    assert "takes up no earlier session" in str(acp(conversation="s9").fatal)


def test_acp_says_a_spent_plan_and_a_missing_sign_in() -> None:
    talk = acp_at_work()
    message = "You have exhausted your daily quota on this model."
    talk.heard({"id": 4, "error": {"code": 429, "message": message}})
    assert [event["failure"] for event in drained(talk) if event["type"] == "end"] == ["plan-limit"]
    closed = acp()
    closed.heard({"id": 2, "error": {"code": -32000, "message": "Authentication required"}})
    assert kinds(closed)[-1] == "login"
