"""What real agents sent, read by the acp lane: recorded conversations, and shapes that nobody should send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.osrc_jsonl import OsrcParser
from outsourcerer.lanes.vehicles.acp import policy
from outsourcerer.lanes.vehicles.acp.updates import Turn, failure_of, usage_of
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import (
    FailureKind,
    LaneEvent,
    ToolCalled,
    ToolFinished,
    ToolKind,
    TurnEnded,
    Unrecognised,
)
from outsourcerer.messages.vocabulary import Verb

GOLDEN = Path(__file__).parents[2] / "golden" / "acp"
ALLOWED = sorted(GOLDEN.glob("*/*/allow.jsonl"))
REJECTED = sorted(GOLDEN.glob("*/*/reject.jsonl"))
CANCELED = sorted(GOLDEN.glob("*/*/cancel.jsonl"))


def agent(path: Path) -> str:
    return path.parts[-3]


def replay(path: Path) -> tuple[list[LaneEvent], list[bool]]:
    """A recorded conversation, heard by a Turn and read by the lane's parser; and how each request was answered."""
    turn, lines, granted = Turn(), [], []
    asked: dict[Any, tuple[Any, Any]] = {}
    methods: dict[Any, str] = {}
    for row in path.read_text().splitlines():
        record = json.loads(row)
        message = record["msg"]
        params = message.get("params") or {}
        if record["dir"] == "->":
            if "method" in message:
                methods[message.get("id")] = message["method"]
            elif message.get("id") in asked:
                call, options = asked.pop(message["id"])
                chosen = message["result"]["outcome"].get("optionId")
                kind = next(option["kind"] for option in options if option["optionId"] == chosen)
                granted.append(kind.startswith("allow"))
                lines += turn.permission(call, granted=granted[-1])
        elif message.get("method") == "session/update":
            lines += turn.update(params["update"])
        elif message.get("method") == "session/request_permission":
            asked[message["id"]] = params["toolCall"], params["options"]
        elif methods.get(message.get("id")) == "session/prompt" and "method" not in message:
            if "error" in message:
                error = message["error"]
                lines += turn.failed(*failure_of(error["code"], error["message"], error.get("data")))
            else:
                lines += turn.end(message["result"])
    parser = OsrcParser()
    events = parser.feed("".join(json.dumps(line) + "\n" for line in lines).encode())
    return [*events, *parser.finish(ExitStatus(code=0))], granted


def last(events: list[LaneEvent]) -> TurnEnded:
    ends = [event for event in events if isinstance(event, TurnEnded)]
    assert len(ends) == 1
    assert not any(isinstance(event, Unrecognised) for event in events)
    return ends[0]


@pytest.mark.parametrize("path", ALLOWED, ids=agent)
def test_a_file_and_a_command(path: Path) -> None:
    events, _ = replay(path)
    end = last(events)
    assert end.ok
    assert end.text is not None
    assert end.text.startswith("Done: created hello.txt and ran the command.")
    calls = [event for event in events if isinstance(event, ToolCalled)]
    wrote = ToolKind.OTHER if agent(path) == "cline" else ToolKind.WRITE  # cline 3.0.65 calls its patch "other"
    ran = [] if agent(path) == "codex-acp" else [ToolKind.EXECUTE]  # it was recorded with a write alone
    assert [call.tool for call in calls] == [wrote, *ran]
    assert all(call.target for call in calls)
    ended = [event for event in events if isinstance(event, ToolFinished)]
    assert [(event.name, event.ok, event.denied) for event in ended] == [(call.name, True, False) for call in calls]


@pytest.mark.parametrize("path", REJECTED, ids=agent)
def test_a_refused_permission_is_evidence(path: Path) -> None:
    events, granted = replay(path)
    end = last(events)
    denied = [event for event in events if isinstance(event, ToolFinished) and event.denied]
    assert granted
    assert not any(granted)
    assert len(denied) == len(granted)
    assert end.ok or end.failure is FailureKind.PERMISSION


@pytest.mark.parametrize("path", CANCELED, ids=agent)
def test_a_canceled_turn_did_not_end_well(path: Path) -> None:
    assert last(replay(path)[0]).failure is FailureKind.INTERRUPTED


@pytest.mark.parametrize(("name", "kind"), [("gemini", FailureKind.PLAN_LIMIT), ("codex-acp", FailureKind.RATE_LIMIT)])
def test_a_spent_limit(name: str, kind: FailureKind) -> None:
    (path,) = GOLDEN.glob(f"{name}/*/quota.jsonl")
    assert last(replay(path)[0]).failure is kind


@pytest.mark.parametrize("path", [*ALLOWED, *REJECTED], ids=lambda path: f"{agent(path)}-{path.stem}")
@pytest.mark.parametrize(
    ("verb", "wanted"), [(Verb.RUN, "reject_once"), (Verb.EDIT, "allow_once"), (Verb.YOLO, "allow_once")]
)
def test_every_agents_options_are_chosen_by_kind(path: Path, verb: Verb, wanted: str) -> None:
    for row in path.read_text().splitlines():
        message = json.loads(row)["msg"]
        if message.get("method") == "session/request_permission":
            params = message["params"]
            chosen, granted = policy.choose(verb, params["toolCall"].get("kind"), params["options"])
            kinds = {option["optionId"]: option["kind"] for option in params["options"]}
            assert chosen is not None
            assert kinds[chosen] == wanted
            assert granted is (verb is not Verb.RUN)


def test_what_has_no_fitting_option_is_canceled() -> None:
    always = [{"optionId": "a", "kind": "allow_always"}]
    assert policy.choose(Verb.RUN, "read", always) == (None, False)
    assert policy.choose(Verb.EDIT, "edit", always) == (None, False)
    assert policy.choose(Verb.YOLO, "edit", always) == ("a", True)
    assert policy.choose(Verb.EDIT, "switch_mode", [{"optionId": "b", "kind": "allow_once"}]) == (None, False)


@pytest.mark.parametrize(
    ("current", "there", "wanted"),
    [
        ("auto", ("default", "acceptEdits", "plan", "auto"), "default"),
        ("read-only", ("read-only", "auto", "full-access"), None),
        ("default", ("default", "yolo"), None),
        ("act", ("act", "plan"), None),
        ("normal", ("normal", "spec", "auto-high"), None),
    ],
)
def test_a_mode_that_asks_is_chosen(current: str, there: tuple[str, ...], wanted: str | None) -> None:
    modes = {"currentModeId": current, "availableModes": [{"id": name} for name in there]}
    assert policy.asking_mode({"modes": modes}) == wanted


def test_cached_tokens_are_counted_once_whichever_way_an_agent_counts() -> None:
    within = {"inputTokens": 3702, "outputTokens": 168, "totalTokens": 3870, "cachedReadTokens": 600}
    beside = {"inputTokens": 3702, "outputTokens": 168, "totalTokens": 4470, "cachedReadTokens": 600}
    assert usage_of({"usage": within})["input"] == 3102
    assert usage_of({"usage": beside})["input"] == 3702
    assert usage_of({}) == {}


def test_an_agent_that_wants_a_sign_in() -> None:
    assert failure_of(-32000, "Authentication required", None)[0] is FailureKind.AUTH
    assert failure_of(-32603, "Internal error", {"details": "file not found"})[0] is FailureKind.TASK
    assert failure_of(-32603, "Internal error", {"a": {"http_status_code": 503}})[0] is FailureKind.TRANSPORT


@pytest.mark.parametrize(
    ("inner", "kind"),
    [
        ("401 Incorrect API key provided: x.", FailureKind.AUTH),
        ("429 The usage limit has been reached", FailureKind.PLAN_LIMIT),
        ("429 slow down", FailureKind.RATE_LIMIT),
        ("The usage limit has been reached: more", FailureKind.PLAN_LIMIT),
        ("Incorrect API key provided: x.", FailureKind.AUTH),
        ("401 tests failed", FailureKind.AUTH),
        ("the 401st test failed", FailureKind.TASK),
    ],
)
def test_the_provider_s_words_behind_an_internal_error(inner: str, kind: FailureKind) -> None:
    assert failure_of(-32603, "Internal error", {"details": inner})[0] is kind
    assert failure_of(-32603, f"Internal error: {inner}", None)[0] is kind


def test_servers_in_the_protocols_form() -> None:
    config = {
        "mcpServers": {
            "a": {"command": "/bin/a", "args": ["-x"], "env": {"K": "v"}},
            "b": {"type": "http", "url": "https://b.invalid", "headers": {"H": "v"}},
        }
    }
    assert policy.mcp_servers(config) == [
        {"name": "a", "command": "/bin/a", "args": ["-x"], "env": [{"name": "K", "value": "v"}]},
        {"type": "http", "name": "b", "url": "https://b.invalid", "headers": [{"name": "H", "value": "v"}]},
    ]


def test_a_server_of_a_kind_that_the_agent_does_not_take() -> None:
    told = {"agentCapabilities": {"mcpCapabilities": {"http": True}}}
    http, sse, stdio = {"type": "http", "name": "h"}, {"type": "sse", "name": "s"}, {"name": "c"}
    assert policy.unfit_server([stdio, http], told) is None
    assert policy.unfit_server([stdio, sse], told) == "s: it takes none over sse"
    assert policy.unfit_server([http], {}) is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "sessionUpdate",
                    "content",
                    "type",
                    "text",
                    "toolCallId",
                    "kind",
                    "status",
                    "rawInput",
                    "command",
                    "locations",
                    "path",
                    "_meta",
                    "title",
                    "name",
                    "usage",
                    "stopReason",
                    "cost",
                    "modes",
                    "models",
                    "configOptions",
                    "id",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(
    ["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "usage_update", "plan", "x"]
)


@given(st.lists(st.tuples(KINDS, JSON), max_size=6), JSON)
def test_nothing_an_agent_sends_raises(updates: list[tuple[str, Any]], result: Any) -> None:
    turn = Turn()
    lines = []
    for kind, value in updates:
        lines += turn.update({**value, "sessionUpdate": kind} if isinstance(value, dict) else value)
        turn.kind_of(value)
        lines += turn.permission(value, granted=False)
    lines += turn.end(result)
    failure_of(result, "x", result)
    policy.asking_mode(result if isinstance(result, dict) else {})
    policy.models_of(result if isinstance(result, dict) else {})
    policy.current_model(result if isinstance(result, dict) else {})
    assert lines[-1]["type"] == "end"
