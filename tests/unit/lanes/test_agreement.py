"""Whether two answers say the same: a labelled corpus, and what must never happen whatever an answer holds."""

from __future__ import annotations

import pytest
from fakes.answer_pairs import read_pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.advice.agreement import same_value, settle
from outsourcerer.lanes.advice.answers import fault_of, value_of
from outsourcerer.lanes.advice.contracts import Contract, ContractError, kept, parse_contract
from outsourcerer.lanes.advice.quantities import bare, quantities
from outsourcerer.lanes.advice.reading import clean, items, tokens

PAIRS = read_pairs()
TURNED = {"first": "second", "second": "first"}
WORDS = st.lists(
    st.sampled_from(
        [
            "yes",
            "no",
            "not",
            "never",
            "42",
            "1.5",
            "GB",
            "a",
            "b)",
            "-",
            "1.",
            "```",
            "{",
            "}",
            "[",
            "]",
            '"',
            "'",
            "because",
            "so",
            "when",
            "if",
            "the",
            "lock",
            "I",
            "can't",
            "help",
            ",",
            ".",
            "|",
            "$",
            "%",
            "0x",
        ]
    ),
    max_size=30,
).map(" ".join)


def contract_of(words: str) -> Contract | None:
    return parse_contract(words) if words else None


def test_the_corpus_is_large_and_of_every_kind():
    assert len(PAIRS) >= 100
    assert {pair.verdict for pair in PAIRS} == {"agree", "differ", "first", "second", "neither"}
    assert sum(bool(pair.contract) for pair in PAIRS) >= 10


def test_of_the_corpus_nearly_all_are_right_in_either_order():
    wrong = []
    for pair in PAIRS:
        contract = contract_of(pair.contract)
        one = settle(pair.question, pair.first, pair.second, contract).verdict
        other = settle(pair.question, pair.second, pair.first, contract).verdict
        if one != pair.verdict or TURNED.get(other, other) != pair.verdict:
            wrong.append((pair, one, other))
    assert len(wrong) <= 0.05 * len(PAIRS), wrong


def test_no_pair_that_differs_is_ever_called_the_same():
    """The costly mistake: a wrong consensus hides what a second opinion is asked for."""
    false = [pair for pair in PAIRS if pair.verdict == "differ" and settle(pair.question, *pair[3:]).verdict == "agree"]
    assert false == []


@given(WORDS, WORDS, WORDS)
@settings(max_examples=60, deadline=None)
def test_any_two_texts_are_settled_and_alike_in_either_order(question, first, second):
    one, other = settle(question, first, second), settle(question, second, first)
    assert TURNED.get(other.verdict, other.verdict) == one.verdict
    if not fault_of(first):
        assert settle(question, first, first).verdict == "agree"


@pytest.mark.parametrize(
    "text",
    [
        "1," * 50_000,
        "not " * 50_000,
        "[" * 100_000,
        "- a\n" * 30_000,
        "a-" * 50_000,
        "`" * 100_000,
        "o(" * 50_000,
        "I'm sorry, but " * 10_000,
        "x = 'a\n" * 20_000,
        "\x00\x1b[31m\ud7ff\U0001f600" * 10_000,
    ],
)
def test_an_enormous_answer_is_read_in_linear_time(text):
    """Each of these would take longer than the suite, were any pattern not linear."""
    assert settle("What is it?", text, text + " 7").verdict in ("agree", "differ", "neither", "first", "second")
    clean(text), tokens(text[:1000]), items(text), quantities(text), bare(text)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("if a:\n    b()\nc()", "if a:\n    b()\n    c()"),
        ("rm a\nb", "rm a b"),
        ("x = 'a b'", "x = 'ab'"),
        ("a:\n  b: 1\nc: 2", "a:\n  b: 1\n  c: 2"),
        ("echo 'x", "echo 'y"),
        ("color: #fff", "color: #000"),
        ("#!/bin/sh\nls", "#!/bin/bash\nls"),
    ],
)
def test_code_that_only_looks_alike_differs(first, second):
    fenced = [f"```\n{code}\n```" for code in (first, second)]
    assert settle("Write it.", *fenced).verdict == "differ"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]}, True),
        ({"a": True}, {"a": 1}, False),
        ([1, 2], [2, 1], False),
        ({}, [], False),
        ("1", 1, False),
    ],
)
def test_data_is_compared_by_value(first, second, same):
    assert same_value(first, second) is same


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": 1', "1", '"x"', "[" * 5000 + "]" * 5000])
def test_what_is_no_object_or_list_is_no_data(text):
    assert value_of(text) is None


@pytest.mark.parametrize(
    ("words", "answer", "keeps"),
    [
        ("json", "```json\n[1]\n```", True),
        ("json", "it is [1]", False),
        ("keys: a , b", '{"a": 1, "b": null, "c": 2}', True),
        ("keys:a", '[{"a": 1}]', False),
        (" Keys :a", '{"a": 1}', True),
        ("JSON", "[]", True),
        (r"regex:^\d+$", " 12\n", True),
        (r"regex:^\d+$", "12 or 13", False),
        ("regex:^(a+)+$", "a" * 5000 + "b", False),
    ],
)
def test_contracts_are_kept_or_not(words, answer, keeps):
    assert kept(parse_contract(words), answer) is keeps


@pytest.mark.parametrize(
    "words", ["", "xml", "keys:", "keys: , ", "regex:", "regex:(", r"regex:(a)\1", "regex:" + "a" * 2000]
)
def test_a_contract_that_means_nothing_is_refused(words):
    with pytest.raises(ContractError):
        parse_contract(words)
