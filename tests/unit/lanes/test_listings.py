"""What is read of a CLI's own list of models, and of how it is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.catalog.live import Live, dump_live, parse_live
from outsourcerer.lanes.contract import Host, Launch, Task
from outsourcerer.lanes.listings import after_available, one_a_line
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.vocabulary import Verb


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (
            b"Models:\n  gemini-3.8-flash-low\n* gemini-3.1-pro-high (new)\n",
            ("gemini-3.8-flash-low", "gemini-3.1-pro-high"),
        ),
        (b"\x1b[1mgemini-3.1-pro\x1b[0m\ngemini-3.1-pro\n", ("gemini-3.1-pro",)),
        (b"Error: sign in first\n", ()),
        (b"", ()),
    ],
)
def test_one_model_a_line(output: bytes, found: tuple[str, ...]) -> None:
    assert one_a_line(output) == found


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (b"Error: unknown model x. Available: glm-5.2, swe-1.7, `kimi-k3`.\nBye", ("glm-5.2", "swe-1.7", "kimi-k3")),
        (b"Available models: a-1\n", ("a-1",)),
        (b"available: --evil, $(x), a b\n", ()),
        (b"OK\n", ()),
    ],
)
def test_what_a_refusal_lists(output: bytes, found: tuple[str, ...]) -> None:
    assert after_available(output) == found


@given(st.binary(max_size=400))
def test_any_bytes_are_read(content: bytes) -> None:
    assert isinstance(one_a_line(content), tuple)
    assert isinstance(after_available(content), tuple)
    assert isinstance(parse_live(content), dict)


def test_what_is_kept_is_read_again() -> None:
    lists = {"gemini": Live("agy", ("gemini-3.1-pro-high",), 5.0)}
    assert parse_live(dump_live(lists)) == lists
    assert parse_live(b'{"gemini": {"models": ["a"]}, "devin": 5}') == {}


def plan(lane: str, model: str, *listed: str) -> Launch:
    host = Host(environment={}, executables={"agy": "/bin/agy", "devin": "/bin/devin"}, catalogue=listed)
    made = builtin(lane).plan(Task(verb=Verb.RUN, prompt="do it", cwd="/w", model=model), host)
    assert isinstance(made, Launch)
    return made


def test_a_listed_model_is_preferred_to_the_last_that_was_known() -> None:
    assert "gemini-3.8-flash" in plan("gemini", "gemini-flash").argv
    assert "gemini-3.9-flash" in plan("gemini", "gemini-flash", "gemini-3.9-flash-low", "gemini-3.8-flash").argv


def test_devin_says_what_it_did_not_list() -> None:
    assert plan("devin", "glm-5.2", "glm-5.2").notices == ()
    assert "did not list glm-5.2" in plan("devin", "glm-5.2", "glm-6").notices[0]
