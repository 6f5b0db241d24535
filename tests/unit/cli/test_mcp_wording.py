"""A refusal in a tool's own words, not in the command line's."""

from __future__ import annotations

import pytest
from outsourcerer.cli.mcp_server.wording import SHELL, in_parameters

TOOL = ("task", "model", "lane", "worktree", "timeout_s", "check_timeout_s", "max_at_once", "may_change_check")
TOOLS = {
    "delegate": ("task", "lane"),
    "wait": ("ids",),
    "cancel": ("ids",),
    "status": ("ids",),
    "session_set": ("session", "mode", "unasked"),
}


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
        ("--trust-lane codex", "osrc run --trust-lane codex"),
        ("--csv", "--csv"),
        ('--lane "acp:gemini --acp"', 'lane "acp:gemini --acp"'),
        ("a--lane, x-m and --lanes", "a--lane, x-m and --lanes"),
    ],
)
def test_an_option_becomes_the_parameter(said: str, told: str) -> None:
    found = in_parameters(said, TOOL)
    assert found.removesuffix(SHELL) == told
    assert found.endswith(SHELL) == ("osrc" in told)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("wait (osrc wait ID), or end it (osrc cancel ID)", "wait (the tool wait ID), or end it (the tool cancel ID)"),
        ("osrc status --all lists the jobs there are", "the tool status lists the jobs there are"),
        ("osrc session mode NAME edits --yolo", "the tool session_set NAME edits unasked"),
        ("osrc explore --lane codex ...", "the tool delegate with verb explore lane codex ..."),
        ("or use --lane local", "or use lane local"),
        ("osrc loop resume X; osrc statuses; osrc run -h", None),
        ("a fault of osrc itself, this osrc only", "a fault of osrc itself, this osrc only"),
    ],
)
def test_a_command_becomes_the_tool_that_does_it(said: str, told: str | None) -> None:
    assert in_parameters(said, ("text",), TOOLS) == (told or said + SHELL)


def test_the_first_name_that_a_tool_has_counts() -> None:
    assert in_parameters("-m or --ladder", ("models", "max_laps")) == "models or models"
    assert in_parameters("--yolo", ("unasked",)) == "unasked"
    assert in_parameters("--lane", ()) == "--lane"
