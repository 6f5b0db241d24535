"""The parsers of claude and codex: cases that no recording has, and lines bent at random."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.contract import Stream
from outsourcerer.lanes.framing import LINE_CAP
from outsourcerer.lanes.vehicles.claude_code.events import ClaudeParser
from outsourcerer.lanes.vehicles.codex_cli.events import CodexParser
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import (
    LANE_EVENT,
    Denied,
    FailureKind,
    Retrying,
    Spoke,
    Thought,
    ToolCalled,
    ToolFinished,
    ToolKind,
    TurnEnded,
    Unrecognised,
)

STREAMS = Path(__file__).parents[2] / "golden" / "streams"
PARSERS = {"claude": ClaudeParser, "codex": CodexParser}
OK = ExitStatus(code=0)


def parse(parser, *items: dict, exit_status: ExitStatus = OK) -> list:
    data = b"".join(json.dumps(item, separators=(",", ":")).encode() + b"\n" for item in items)
    return [*parser.feed(data), *parser.finish(exit_status)]


def assistant(*blocks: dict, **fields) -> dict:
    return {
        "type": "assistant",
        "message": {"model": "m", "content": list(blocks)},
        "parent_tool_use_id": None,
        **fields,
    }


RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "bye"}


def of(kind: type, events: list) -> list:
    return [event for event in events if isinstance(event, kind)]


def test_words_of_a_sub_agent_are_life_but_not_the_delegates() -> None:
    events = parse(ClaudeParser(), assistant({"type": "text", "text": "OSRC"}, parent_tool_use_id="t1"), RESULT)
    assert of(Spoke, events) == []
    assert of(Thought, events) == [Thought(chars=4)]


def test_claude_pieces_thoughts_and_unknown_tools() -> None:
    events = parse(
        ClaudeParser(),
        {"type": "stream_event", "event": {"delta": {"type": "text_delta", "text": "he"}}, "parent_tool_use_id": None},
        assistant(
            {"type": "thinking", "thinking": "hm"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "tool_use", "id": "1", "name": "mcp__x__y", "input": {"query": "q"}},
        ),
        RESULT,
    )
    assert of(Spoke, events) == [Spoke(text="he", partial=True)]
    assert of(Thought, events) == [Thought(chars=2), Thought()]
    assert of(ToolCalled, events) == [ToolCalled(tool=ToolKind.OTHER, name="mcp__x__y", target="q")]


@pytest.mark.parametrize(
    ("fields", "failure"),
    [
        ({"subtype": "error_max_turns"}, FailureKind.TASK),
        ({"is_error": True, "api_error_status": 401, "result": "no"}, FailureKind.AUTH),
        ({"is_error": True, "api_error_status": 529, "result": "no"}, FailureKind.TRANSPORT),
        ({"is_error": True, "api_error_status": 429, "result": "no"}, FailureKind.RATE_LIMIT),
        ({"is_error": True, "api_error_status": 404, "result": "no"}, FailureKind.MODEL_GONE),
        ({"is_error": True, "result": "Not logged in \u00b7 Please run /login"}, FailureKind.AUTH),
        ({"subtype": "error_during_execution", "terminal_reason": "aborted_streaming"}, FailureKind.INTERRUPTED),
        ({"is_error": True, "result": "3 tests failed"}, FailureKind.TASK),
        ({"is_error": "false"}, FailureKind.TASK),
    ],
)
def test_is_error_decides_and_the_reason_is_read(fields: dict, failure: FailureKind) -> None:
    [end] = of(TurnEnded, parse(ClaudeParser(), {**RESULT, **fields}))
    assert (end.ok, end.failure, end.text) == (False, failure, None)


def test_the_old_form_of_a_limit_carries_its_end() -> None:
    fields = {"is_error": True, "result": "Claude AI usage limit reached|1796031524"}
    [end] = of(TurnEnded, parse(ClaudeParser(), {**RESULT, **fields}))
    assert (end.failure, end.until) == (FailureKind.PLAN_LIMIT, 1796031524.0)


def test_a_refusal_is_counted_once_by_whichever_line_tells_it() -> None:
    call = assistant({"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "a"}})
    told = {
        "type": "system",
        "subtype": "permission_denied",
        "tool_name": "Write",
        "tool_use_id": "t1",
        "message": "no",
    }
    result = {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "no"}]},
    }
    listed = {**RESULT, "permission_denials": [{"tool_name": "Write", "tool_use_id": "t1"}]}
    full = parse(ClaudeParser(), call, told, result, listed)
    assert [event.denied for event in of(ToolFinished, full)] == [True]
    assert of(Denied, full) == []
    assert len(of(Denied, parse(ClaudeParser(), told, listed))) == 1
    assert of(Denied, parse(ClaudeParser(), listed)) == [Denied(name="Write")]


def test_an_ordinary_tool_error_is_no_refusal() -> None:
    call = assistant({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "false"}})
    result = {
        "type": "user",
        "message": {
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "is_error": True,
                    "content": [{"type": "text", "text": "exit 1"}],
                }
            ]
        },
    }
    assert of(ToolFinished, parse(ClaudeParser(), call, result, RESULT)) == [
        ToolFinished(name="Bash", ok=False, excerpt="exit 1")
    ]


def test_a_result_over_the_cap_still_ends_the_turn() -> None:
    for error in (False, True):
        item = {"is_error": error, "subtype": "success", "result": "x" * (LINE_CAP + 9), "type": "result"}
        [end] = of(TurnEnded, parse(ClaudeParser(), item))
        assert (end.ok, end.synthetic, end.text) == (not error, False, None)
        assert "only in the log" in end.message
    quoted = assistant({"type": "text", "text": '"type":"result","is_error":false' + "x" * LINE_CAP})
    assert of(TurnEnded, parse(ClaudeParser(), quoted))[0].synthetic


def test_a_second_turn_of_claude_that_is_cut_off_is_told() -> None:
    ends = of(
        TurnEnded,
        parse(ClaudeParser(), RESULT, assistant({"type": "text", "text": "and"}), exit_status=ExitStatus(signal=9)),
    )
    assert [(end.ok, end.synthetic) for end in ends] == [(True, False), (False, True)]


def test_codex_items_that_end_at_once_are_calls_too() -> None:
    item = {
        "id": "i1",
        "type": "command_execution",
        "command": "touch x",
        "aggregated_output": "touch: Read-only file system",
        "exit_code": 1,
        "status": "failed",
    }
    events = parse(CodexParser(), {"type": "item.completed", "item": item}, {"type": "turn.completed"})
    assert of(ToolCalled, events) == [ToolCalled(tool=ToolKind.EXECUTE, name="command_execution", target="touch x")]
    [finished] = of(ToolFinished, events)
    assert (finished.ok, finished.denied) == (False, True)


def test_codex_counts_each_changed_file_and_knows_other_items() -> None:
    changes = [{"path": "a", "kind": "add"}, {"path": "b", "kind": "update"}]
    events = parse(
        CodexParser(),
        {"type": "item.started", "item": {"id": "1", "type": "file_change", "changes": changes}},
        {
            "type": "item.completed",
            "item": {"id": "1", "type": "file_change", "changes": changes, "status": "completed"},
        },
        {"type": "item.completed", "item": {"id": "2", "type": "reasoning", "text": "hm"}},
        {"type": "item.completed", "item": {"id": "3", "type": "mcp_tool_call", "tool": "look", "status": "completed"}},
        {"type": "turn.completed"},
    )
    assert [event.target for event in of(ToolCalled, events)] == ["a", "b", None]
    assert len(of(ToolFinished, events)) == 3
    assert of(Thought, events) == [Thought(chars=2)]


def test_codex_that_does_not_start_says_why() -> None:
    parser = CodexParser()
    parser.feed(b"Reading additional input from stdin...\nerror: unexpected argument '--x' found\n", Stream.ERR)
    [end] = parser.finish(ExitStatus(code=2))
    assert (end.failure, end.message) == (FailureKind.LAUNCH, "error: unexpected argument '--x' found")


def test_codex_waiting_for_a_network_is_a_retry() -> None:
    events = parse(CodexParser(), {"type": "error", "message": "Reconnecting... waiting for network (x)"})
    assert of(Retrying, events) == [Retrying(message="Reconnecting... waiting for network (x)")]


def leaves(value: object, path: tuple = ()) -> list[tuple]:
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, inner in rows for place in leaves(inner, (*path, key)))]


def put(value: object, path: tuple, new: object) -> object:
    if not path:
        return new
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = put(value[key], tuple(rest), new)
    return copy


def recorded_items(name: str) -> list:
    lines = [line for path in sorted(STREAMS.glob(f"{name}/*/*.out")) for line in path.read_bytes().splitlines()]
    kinds = {}
    for line in lines:
        item = json.loads(line)
        inner = item.get("item") if isinstance(item.get("item"), dict) else {}
        kinds.setdefault((item["type"], item.get("subtype"), inner.get("type")), item)
    return list(kinds.values())


ITEMS = {name: [(item, leaves(item)) for item in recorded_items(name)] for name in PARSERS}
bent = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("\ud800\x1b[31m"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
def test_a_value_of_any_type_anywhere_is_taken(name: str, data: st.DataObject) -> None:
    items = []
    for _ in range(data.draw(st.integers(1, 3))):
        item, places = data.draw(st.sampled_from(ITEMS[name]))
        items.append(put(item, data.draw(st.sampled_from(places)), data.draw(bent)))
    events = parse(PARSERS[name](), *items)
    assert of(TurnEnded, events) or of(Unrecognised, events)
    for event in events:
        LANE_EVENT.validate_json(event.model_dump_json())
