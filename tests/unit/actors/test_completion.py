from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.actors.delegates import completion as module
from outsourcerer.actors.delegates.completion import Completion, as_object, error_message, failure_of_status
from outsourcerer.messages.lane_events import FailureKind


def chunk(content: str | None = None, finish: str | None = None, **fields: object) -> str:
    return json.dumps({"choices": [{"delta": {"content": content}, "finish_reason": finish}], **fields})


def folded(*payloads: str) -> Completion:
    completion = Completion()
    for payload in payloads:
        completion.take(payload)
    return completion


def test_a_whole_answer() -> None:
    completion = folded(chunk("Hel", model="m1"), chunk("lo"), chunk(None, "stop"), "[DONE]")
    assert (completion.text, completion.model, completion.trouble()) == ("Hello", "m1", None)


def test_a_finish_reason_completes_an_answer_without_done() -> None:
    assert folded(chunk("x", "stop")).trouble() is None


def test_a_cut_stream_is_a_transport_failure() -> None:
    trouble = folded(chunk("half an ans")).trouble()
    assert trouble is not None
    assert trouble.failure == "transport"


@pytest.mark.parametrize("text", ["", " \n"])
def test_no_answer_is_a_failure(text: str) -> None:
    trouble = folded(chunk(text, "stop"), "[DONE]").trouble()
    assert trouble is not None
    assert trouble.failure == "task"


def test_a_cut_off_answer_is_an_output_limit() -> None:
    trouble = folded(chunk("abc", "length"), "[DONE]").trouble()
    assert trouble is not None
    assert trouble.failure == "output-limit"


@pytest.mark.parametrize(
    ("error", "failure", "words"),
    [
        ({"message": "slow down", "code": 429}, "rate-limit", "slow down"),
        ({"message": "who?", "code": 401}, "auth", "who?"),
        ({"message": "boom", "code": "server_error"}, "task", "boom"),
        ("plain words", "task", "plain words"),
        ([1], "task", "the server reported an error without words"),
    ],
)
def test_an_error_in_the_stream_wins(error: object, failure: str, words: str) -> None:
    trouble = folded(chunk("half"), json.dumps({"error": error}), chunk("more", "stop")).trouble()
    assert trouble is not None
    assert (trouble.failure, trouble.message) == (failure, words)


def test_usage_splits_what_was_cached_from_what_was_not() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 30}}
    assert folded(json.dumps({"choices": [], "usage": usage})).usage == {"input": 70, "cached_input": 30, "output": 7}


def test_unknown_usage_stays_unknown() -> None:
    assert folded(chunk("x", "stop", usage=None)).usage == {}
    assert folded(chunk("x", "stop", usage={"prompt_tokens": "many", "completion_tokens": True})).usage == {}


def test_reasoning_is_counted_and_never_said() -> None:
    completion = Completion()
    delta = completion.take(json.dumps({"choices": [{"delta": {"reasoning_content": "hmm"}}]}))
    assert (delta.thought_chars, delta.text, completion.text) == (3, "", "")


def test_an_endless_answer_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TEXT_CAP", 10)
    completion = folded(chunk("x" * 8), chunk("y" * 8))
    assert completion.stop
    trouble = completion.trouble()
    assert trouble is not None
    assert trouble.failure == "output-limit"


def test_garbage_is_counted() -> None:
    assert folded("{", "[1]", "null", "\x00", '{"a"').unreadable == 5


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"choices":' * 50_000])
def test_deep_nesting_is_no_crash(deep: str) -> None:
    assert as_object(deep) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "delta", "content", "usage", "error", "message", "model"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=4))
def test_any_json_is_taken(values: list[object]) -> None:
    completion = folded(*(json.dumps(value) for value in values))
    completion.trouble()
    assert all(isinstance(piece, str) for piece in completion.pieces)


@given(st.integers(100, 599))
def test_every_status_has_a_known_failure(status: int) -> None:
    assert failure_of_status(status) in {kind.value for kind in FailureKind}


def test_statuses() -> None:
    table = {
        401: "auth",
        403: "auth",
        429: "rate-limit",
        404: "model-gone",
        503: "transport",
        302: "transport",
        400: "task",
    }
    assert {status: failure_of_status(status) for status in table} == table


@pytest.mark.parametrize("body", [{"error": {"message": "w"}}, {"error": "w"}, {"detail": "w"}, {"message": " w "}])
def test_error_words_are_found_in_every_shape(body: object) -> None:
    assert error_message(body) == "w"


@given(JSON)
def test_error_words_of_anything(body: object) -> None:
    words = error_message(body)
    assert words is None or words
