"""A refusal in a tool's own words, not in the command line's."""

from __future__ import annotations

import pytest
from outsourcerer.cli.mcp_server.wording import in_parameters

TOOL = ("task", "model", "lane", "worktree", "timeout_s", "check_timeout_s", "max_at_once", "may_change_check")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("leave --worktree out, or: osrc edit ...", "leave worktree out, or: osrc edit ..."),
        ("git init, or --no-worktree", "git init, or worktree false"),
        ("another lane or model with --lane or -m", "another lane or model with lane or model"),
        ("--timeout, --max and --check-timeout", "timeout_s, max_at_once and check_timeout_s"),
        ("--may-change-check keeps it", "may_change_check keeps it"),
        # A command to type keeps its options, up to where the sentence goes on.
        ("osrc run --lane codex -m sol ...; or --lane local", "osrc run --lane codex -m sol ...; or lane local"),
        ("(osrc tab --by lane), --lane x", "(osrc tab --by lane), lane x"),
        # What the tool has not, and what is no option.
        ("--trust-lane codex", "--trust-lane codex"),
        ('--lane "acp:gemini --acp"', 'lane "acp:gemini --acp"'),
        ("a--lane, x-m and --lanes", "a--lane, x-m and --lanes"),
    ],
)
def test_an_option_becomes_the_parameter(said: str, told: str) -> None:
    assert in_parameters(said, TOOL) == told


def test_the_first_name_that_a_tool_has_counts() -> None:
    assert in_parameters("-m or --ladder", ("models", "max_laps")) == "models or models"
    assert in_parameters("--yolo", ("unasked",)) == "unasked"
    assert in_parameters("--lane", ()) == "--lane"
