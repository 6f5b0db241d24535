"""Both directions of the translation between Anthropic's dialect and OpenAI's chat dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.actors.delegates.anthropic_request import guess_tokens, to_chat
from outsourcerer.actors.delegates.anthropic_stream import AnthropicStream, arguments, error_of
from outsourcerer.actors.delegates.completion import Trouble


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> str:
    return json.dumps({"model": "m", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more})


def call(index: int, arguments: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **more, "function": {"arguments": arguments, **more.pop("function", {})}}]}


def played(*payloads: str) -> tuple[list[tuple[str, dict[str, Any]]], Trouble | None, AnthropicStream]:
    stream = AnthropicStream("asked", "msg_1")
    frames = [frame for payload in payloads for frame in stream.take(payload)]
    rest, trouble = stream.finish()
    return frames + rest, trouble, stream


def test_a_conversation_with_tools_becomes_one_of_the_chat_dialect() -> None:
    body = {
        "model": "claude-x",
        "max_tokens": 100,
        "stop_sequences": ["S"],
        "system": [{"type": "text", "text": "x-anthropic-billing-header: a"}, {"type": "text", "text": "Be good."}],
        "tools": [
            {"name": "Read", "description": "d", "input_schema": {"type": "object"}},
            {"type": "web_search_1", "name": "w"},
        ],
        "tool_choice": {"type": "any"},
        "messages": [
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "Looking."},
                    {"type": "tool_use", "id": "t1", "name": "Read", "input": {"p": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "is_error": True,
                        "content": [{"type": "text", "text": "no"}],
                    },
                    {"type": "text", "text": "Go on."},
                ],
            },
        ],
    }
    assert to_chat(body, "local") == {
        "model": "local",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 100,
        "stop": ["S"],
        "tools": [
            {"type": "function", "function": {"name": "Read", "description": "d", "parameters": {"type": "object"}}}
        ],
        "tool_choice": "required",
        "messages": [
            {"role": "system", "content": "Be good."},
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": "Looking.",
                "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "Read", "arguments": '{"p": 1}'}}],
            },
            {"role": "tool", "tool_call_id": "t1", "content": "Error: no"},
            {"role": "user", "content": "Go on."},
        ],
    }


def test_an_image_goes_with_the_user_also_when_a_tool_gave_it() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [image]}
    messages = to_chat({"messages": [{"role": "user", "content": [result]}]}, "m")["messages"]
    assert [message["role"] for message in messages] == ["tool", "user"]
    assert messages[1]["content"] == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}]


def test_as_much_as_you_can_is_not_a_number() -> None:
    assert "max_tokens" not in to_chat({"max_tokens": 32000}, "m")


def test_words_thoughts_and_calls_become_blocks() -> None:
    frames, trouble, stream = played(
        chunk({"reasoning_content": "hm"}),
        chunk({"content": "Hel"}),
        chunk({"content": "lo"}),
        chunk(call(0, '{"a"', id="c0", function={"name": "One"})),
        chunk(call(1, "{}", id="c1", function={"name": "Two"})),
        chunk(call(0, ": 1}")),
        chunk(finish="tool_calls"),
        json.dumps(
            {
                "choices": [],
                "usage": {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}},
            }
        ),
        "[DONE]",
    )
    assert trouble is None
    assert [name for name, _ in frames] == [
        "message_start",
        *("content_block_start", "content_block_delta", "content_block_stop"),
        *("content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"),
        *("content_block_start", "content_block_delta", "content_block_stop") * 2,
        "message_delta",
        "message_stop",
    ]
    assert all(data["type"] == name for name, data in frames)
    started = [data for name, data in frames if name == "content_block_start"]
    assert [data["index"] for data in started] == [0, 1, 2, 3]
    assert [data["content_block"].get("input") for data in started] == [None, None, {}, {}]
    ends = frames[-2][1]
    assert ends["delta"]["stop_reason"] == "tool_use"
    assert ends["usage"] == {
        "input_tokens": 6,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 0,
        "output_tokens": 3,
    }
    whole = stream.whole()
    assert [block["type"] for block in whole["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert whole["content"][1]["text"] == "Hello"
    assert whole["content"][2] == {"type": "tool_use", "id": "c0", "name": "One", "input": {"a": 1}}
    assert whole["model"] == "m"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ('{"a": 1}', {"a": 1}),
        ("{a", {"unreadable_arguments": "{a"}),
        ("[1]", {"unreadable_arguments": "[1]"}),
    ],
)
def test_broken_arguments_are_the_tools_to_refuse(text: str, value: dict[str, Any]) -> None:
    assert arguments(text) == value


@pytest.mark.parametrize(("finish", "reason"), [("stop", "end_turn"), ("length", "max_tokens")])
def test_how_an_answer_ended(finish: str, reason: str) -> None:
    frames, trouble, _ = played(chunk({"content": "x"}), chunk(finish=finish), "[DONE]")
    assert trouble is None
    assert frames[-2][1]["delta"]["stop_reason"] == reason


def test_a_call_after_stop_is_a_call() -> None:
    frames, _, _ = played(chunk(call(0, "{}", id="c", function={"name": "N"})), chunk(finish="stop"), "[DONE]")
    assert frames[-2][1]["delta"]["stop_reason"] == "tool_use"


def test_a_stream_that_breaks_off_is_no_answer() -> None:
    _, trouble, _ = played(chunk({"content": "x"}))
    assert trouble is not None
    assert error_of(trouble)[0] == 500


@pytest.mark.parametrize(
    ("failure", "message", "status"),
    [
        ("auth", "no", 401),
        ("rate-limit", "slow", 429),
        ("model-gone", "gone", 404),
        ("task", "bad", 400),
        ("transport", "down", 500),
        ("task", "the request exceeds the available context size", 400),
    ],
)
def test_errors_have_the_other_dialects_status(failure: str, message: str, status: int) -> None:
    found, body = error_of(Trouble(failure, message))
    assert found == status
    assert body["type"] == "error"
    assert ("prompt is too long" in body["error"]["message"]) == ("context" in message)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["role", "content", "type", "text", "tools", "name", "input_schema", "messages", "system", "tool_choice", "choices",
             "delta", "tool_calls", "index", "function", "arguments", "finish_reason", "usage", "error", "source", "id"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=16,
)  # fmt: skip


@given(JSON)
def test_no_request_raises(body: Any) -> None:
    given_ = body if isinstance(body, dict) else {}
    json.dumps(to_chat(given_, "m"))
    assert guess_tokens(given_) >= 1


@given(
    st.lists(
        JSON | st.just({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": 1}}]}}]}), max_size=5
    )
)
def test_no_answer_raises_and_blocks_are_balanced(payloads: list[Any]) -> None:
    frames, trouble, _ = played(*map(json.dumps, payloads))
    names = [name for name, _ in frames]
    if trouble is None:
        assert names.count("content_block_start") == names.count("content_block_stop")
        assert names[0] == "message_start"
        assert names[-1] == "message_stop"
