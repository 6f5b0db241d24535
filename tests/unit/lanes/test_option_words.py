"""Which options a lane uses, and which a help text names."""

from __future__ import annotations

import pytest
from conformance.subjects import HOST, built_in
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.acp.lane import lane_of
from outsourcerer.lanes.contract import Host, Lane
from outsourcerer.lanes.option_words import offered, used
from outsourcerer.lanes.registry import builtin


def test_options_belong_to_their_command() -> None:
    found = used(builtin("codex"), HOST)
    assert list(found) == [("exec",)]
    assert {"--json", "-s", "-m", "-c", "--dangerously-bypass-approvals-and-sandbox"} <= found[("exec",)]
    assert list(used(builtin("warp"), HOST)) == [("agent", "run")]
    assert list(used(builtin("claude"), HOST)) == [()]


def test_a_value_is_no_option_and_an_equals_sign_ends_one() -> None:
    found = used(builtin("copilot"), HOST)[()]
    assert {"--available-tools", "--deny-tool", "--usage-output-file", "--reasoning-effort"} <= found
    assert not any("=" in word or "{" in word for word in found)


@pytest.mark.parametrize("name", sorted(name for name in built_in() if builtin(name).binary))
def test_every_cli_has_options_even_without_keys_and_servers(name: str) -> None:
    bare = Host(environment={}, executables=HOST.executables)
    assert set().union(*used(builtin(name), bare).values()), name


def test_a_program_behind_one_of_ours_has_its_own_options() -> None:
    lane = lane_of("gemini --acp --include-directories /x")
    assert isinstance(lane, Lane)
    found = used(lane, Host(environment={}, executables={"gemini": "/bin/gemini"}))
    assert found == {(): frozenset({"--acp", "--include-directories"})}


def test_nothing_is_known_where_there_is_no_program() -> None:
    assert used(builtin("codex"), Host(environment={}, executables={})) == {}
    assert used(builtin("embedded"), HOST) == {}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (b"  -p, --print   Print.\n", {"-p", "--print"}),
        (b"--allowedTools, --allowed-tools <x>", {"--allowedTools", "--allowed-tools"}),
        (b"[--model=<id>]", {"--model"}),
        (b"a well-known--thing - a dash, -1, ---x", set()),
        (b"\xff\xfe --caf\xc3\xa9", {"--caf\u00e9"}),
        (b"", set()),
    ],
)
def test_options_in_a_help_text(text: bytes, options: set[str]) -> None:
    assert offered(text) == options


@given(st.binary(max_size=200))
def test_no_help_text_breaks_it(text: bytes) -> None:
    assert all(word.startswith("-") for word in offered(text))
