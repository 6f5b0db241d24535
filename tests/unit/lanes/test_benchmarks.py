"""Scores as OpenRouter gives them: what is no number is unknown, and what is no answer replaces nothing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.catalog.benchmarks import Benchmarks, Scores, is_benchmarks, parse


def answer(*rows):
    return json.dumps({"data": list(rows)}).encode()


def row(name, coding=None, intelligence=None, agentic=None):
    return {
        "model_permaslug": name,
        "coding_index": coding,
        "intelligence_index": intelligence,
        "agentic_index": agentic,
    }


def test_a_row_is_found_by_the_models_key():
    found = parse(answer(row("z-ai/glm-5.3-20260901", 61.5, 50, None)))
    assert found.of("glm-5-3") == Scores("z-ai/glm-5.3-20260901", 61.5, 50.0, None)
    assert found.of("glm-5-2") is None
    assert found.of("") is None


def test_words_mean_the_newest_of_their_family():
    rows = [
        row("anthropic/claude-opus-4.8", 60),
        row("anthropic/claude-opus-5", 70),
        row("anthropic/claude-sonnet-9", 80),
    ]
    found = parse(answer(*rows, row("google/gemini-3.10-pro", 66), row("google/gemini-3.9-pro-preview", 65)))
    assert found.of("opus").coding == 70
    assert found.of("gemini-pro").coding == 66
    assert found.of("haiku") is None


def test_a_longer_name_stands_for_a_shorter_one_but_not_the_other_way():
    found = parse(answer(row("x/kimi-k3-thinking", 50), row("x/kimi-k3-air", 40), row("x/kimi-k30", 99)))
    assert found.of("kimi-k3").coding == 40
    assert found.of("kimi-k3-thinking-more") is None


@pytest.mark.parametrize(
    "bad",
    [None, "", 4, True, "x" * 300, "a b", "a\nb", {"a": 1}, ["x"]],
)
def test_a_name_that_is_none_is_passed_over(bad):
    assert parse(answer(row(bad, 50), row("x/good", 50))).scores.keys() == {"good"}


@pytest.mark.parametrize("bad", ["70", True, -1, float("inf"), 1e300, {}, []])
def test_an_index_that_is_none_is_unknown(bad):
    content = json.dumps({"data": [row("x/good", bad, 50)]}).encode()
    assert parse(content).of("good") == Scores("x/good", None, 50.0, None)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b'{"data": {}}',
        b"<html>",
        b"\xff\xfe",
        b"[" * 100_000,
        answer(),
        answer(row("x/none")),
        answer("x", 3),
    ],
)
def test_what_holds_no_scores_replaces_nothing(content):
    assert not is_benchmarks(content)


@given(st.binary(max_size=300) | st.text().map(str.encode))
def test_any_answer_is_survived(content):
    found = parse(content)
    assert found is None or isinstance(found, Benchmarks)
