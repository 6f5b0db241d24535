"""Numbers out of all bounds and names that are none: usage errors in plain words, before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from outsourcerer.cli.main import run
from outsourcerer.cli.options import Globals
from outsourcerer.cli.submit import lane_of

HUGE = str(10**22)
BAD = [
    (["status", "--limit", HUGE], "is not a whole number from 0 to", 64),
    (["status", "--limit", "-1"], "is not a whole number from 0 to", 64),
    (["status", "--limit", "\u0663"], "is not a whole number from 0 to", 64),
    (["events", "--since", HUGE], "is not a whole number from 0 to", 64),
    (["logs", "-n", HUGE, "x"], "is not a whole number from 0 to", 64),
    (["supervisor", "logs", "-n", HUGE], "is not a whole number from 0 to", 64),
    (["wait", "--for", "999999999d", "x"], "is too long; at most 365d", 64),
    (["run", "--timeout", "31d", "x"], "is too long; at most 30d", 64),
    (["run", "--label", "", "x"], "--label is empty", 64),
    (["run", "--label", "x" * 81, "x"], "--label is 81 characters long; at most 80", 64),
    (["run", "--label", "a\nb", "x"], "--label holds a control character", 64),
    (["run", "-m", "\x1b", "x"], "-m holds a control character: '\\x1b'", 64),
    (["run", "-m", "", "x"], "-m is empty", 64),
    (["run", "--lane", "../x", "x"], "there is no lane '../x'", 1),
    (["run", "--lane", "", "x"], "there is no lane ''", 1),
    (["run", "--lane", "acp:" + "x" * 501, "x"], "--lane is 505 characters long; at most 504", 64),
    (["run", "--lane", "gemini --acp", "x"], "there is no lane 'gemini --acp'", 1),
    (["run", ""], "the task is empty", 64),
    (["run", "$task"], "was not expanded", 64),
]


@pytest.mark.parametrize(("words", "said", "code"), BAD)
def test_out_of_bounds(
    words: list[str],
    said: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OSRC_HOME", str(tmp_path / "home"))
    assert run(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert "  try: " in err
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("words", [["status", "--limit", str(2**53)], ["events", "--since", str(2**53)]])
def test_the_largest_is_taken(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OSRC_HOME", str(tmp_path / "home"))
    assert run(words) == 0


@pytest.mark.parametrize(("option", "word"), [("lane", "Claude"), ("lane", " claude "), ("trust_lane", "CLAUDE")])
def test_the_case_of_a_lane_never_counts(option: str, word: str) -> None:
    options = Globals()
    options.provider = "claude"
    assert lane_of(options, {"lane": None, "trust_lane": None, option: word}) == "claude"


def test_an_agents_command_keeps_its_case() -> None:
    assert lane_of(Globals(), {"lane": "acp:MyAgent --Acp", "trust_lane": None}) == "acp:MyAgent --Acp"
