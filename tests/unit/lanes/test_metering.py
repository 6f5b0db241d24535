"""What a turn has used while it goes on: from Claude Code's own lines, and from the end of Codex's rollout."""

import json
import sys
from pathlib import Path

import pytest
from outsourcerer.lanes.contract import Stream
from outsourcerer.lanes.evidence import Evidence, fold
from outsourcerer.lanes.vehicles.claude_code.events import ClaudeParser
from outsourcerer.lanes.vehicles.codex_cli.rollout import used_in
from outsourcerer.messages.job import TokenUsage
from outsourcerer.messages.lane_events import UsageMetered

GOLDEN = Path(__file__).parents[2] / "golden" / "streams" / "claude" / "2.1.332-2026-11-30"


def metered(data):
    return [event.by_model for event in ClaudeParser().feed(data, Stream.OUT) if isinstance(event, UsageMetered)]


def message(name, usage, *blocks, **more):
    return {"type": "assistant", "message": {"id": name, "usage": usage, "content": blocks, **more}}


def lines(*items):
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


ANSWERED = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t"}]}}


def test_a_recorded_turn_is_metered_call_by_call():
    found = metered((GOLDEN / "b.out").read_bytes())
    assert [use["claude-opus-5-5"].input for use in found] == [1234, 2468]  # its message of two blocks counts once
    assert [use["claude-opus-5-5"].cached_input for use in found] == [200, 400]
    evidence = Evidence()
    for event in ClaudeParser().feed((GOLDEN / "b.out").read_bytes(), Stream.OUT):
        evidence = fold(evidence, event)
    assert evidence.usage.input == 3702  # the sum at the end is the CLI's own


def test_output_is_reckoned_from_what_was_written_and_sub_agents_count():
    text = {"type": "text", "text": "x" * 330}
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "y" * 330}}
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 7, "output_tokens": 1}
    sub = message("b", {"input_tokens": 11, "output_tokens": 90}, text, model="haiku") | {"parent_tool_use_id": "t"}
    (first,) = metered(
        lines(message("a", usage, text, model="opus"), sub, message("a", usage, call), ANSWERED, ANSWERED)
    )
    assert first["haiku"] == TokenUsage(input=11, cached_input=0, cache_write=0, output=100)
    assert (first["opus"].input, first["opus"].cache_write) == (5, 7)
    assert 200 <= first["opus"].output <= 210


@pytest.mark.parametrize("usage", [None, 7, [], {"input_tokens": -1, "output_tokens": True}, {"input_tokens": "1"}])
def test_a_use_that_is_none_counts_nothing(usage):
    (only,) = metered(lines({"type": "assistant", "message": {"usage": usage, "content": 7, "id": [1]}}, ANSWERED))
    assert only == {"": TokenUsage(input=0, cached_input=0, cache_write=0, output=0)}


def test_a_call_as_deep_as_can_just_be_read_is_no_trouble():
    for depth in range(sys.getrecursionlimit() - 150, sys.getrecursionlimit()):
        line = json.dumps(message("a", {}, {"type": "tool_use", "id": "t", "input": {"x": "DEEP"}}))
        deep = line.replace('"DEEP"', "[" * depth + "]" * depth).encode() + b"\n"
        ClaudeParser().feed(deep + lines(ANSWERED), Stream.OUT)


def test_models_without_end_are_one():
    many = [message(str(number), {"input_tokens": 1}, model=f"m{number}") for number in range(40)]
    (only,) = metered(lines(*many, ANSWERED))
    assert len(only) <= 17
    assert sum(use.input for use in only.values()) == 40


def told(total, kind="token_count"):
    return lines({"type": "event_msg", "payload": {"type": kind, "info": {"total_token_usage": total}}})


def test_the_last_total_of_a_rollout_counts():
    one = {"input_tokens": 1234, "cached_input_tokens": 200, "cache_write_input_tokens": 0, "output_tokens": 56}
    two = {**one, "input_tokens": 2468, "cached_input_tokens": 400, "reasoning_output_tokens": 3}
    found = used_in(
        b'cut "total_token_usage"}\n' + told(one) + told(two) + lines({"type": "response_item"}) + b'{"half'
    )
    assert found == TokenUsage(input=2068, cached_input=400, cache_write=0, output=56, reasoning=3)
    for torn in (
        b"",
        told(None),
        told([]),
        told(one, "other"),
        b'["total_token_usage"]',
        b'{"total_token_usage":' * 9000,
    ):
        assert used_in(torn) is None
