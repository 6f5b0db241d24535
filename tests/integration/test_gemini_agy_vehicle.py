"""The gemini lane over ``agy``, through ``osrc``. The program is a stand-in made from public facts."""

from __future__ import annotations

import json
import shlex
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.real_clis import World, world

FAKE = Path(__file__).parents[1] / "fakes" / "fake_agy.py"


@pytest.fixture
def agy(tmp_path: Path) -> Iterator[World]:
    """A world with ``agy`` first on PATH and no Gemini CLI."""
    with world(tmp_path / "w", []) as made:
        programs = made.root / "bin"
        programs.mkdir()
        program = programs / "agy"
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I {shlex.quote(str(FAKE))} "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        made.environ["PATH"] = f"{programs}:/usr/bin:/bin"
        made.environ["FAKE_AGY_LOG"] = str(made.root / "agy.log")
        yield made


def starts(world: World) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (world.root / "agy.log").read_text().splitlines()]


def test_it_runs_before_gemini_cli_and_its_answer_is_the_result(agy: World) -> None:
    job, done = agy.job("run", "-m", "gemini-flash", "A question?")
    assert (job["lane"], job["state"], job["exit"], done.returncode) == ("gemini", "done", 0, 0), job
    assert "The answer of agy." in agy.result(job)
    assert job["cost"]["kind"] == "plan"
    (start,) = starts(agy)
    assert "A question?" in start["prompt"]
    assert start["argv"][2:] == ["--model", "gemini-3.8-flash", "--effort", "medium", "--print-timeout", "60m"]
    assert Path(start["cwd"]).name == agy.repo.name


def test_write_verbs_ask_for_its_sandbox(agy: World) -> None:
    job, _done = agy.job("edit", "-m", "gemini-pro", "--effort", "max", "Change it.", FAKE_AGY_WRITE="new.txt")
    assert job["state"] == "done", job
    assert (agy.repo / "new.txt").exists()
    assert {"--sandbox", "--dangerously-skip-permissions"} < set(starts(agy)[0]["argv"])


def test_a_write_under_run_is_stopped_or_named(agy: World) -> None:
    job, _done = agy.job("run", "--lane", "gemini", "Only look.", FAKE_AGY_WRITE="new.txt")
    if (agy.repo / "new.txt").exists():
        assert job["state"] != "done"
        assert "new.txt" in f"{job['reason']} {job['note']}"
    else:
        assert "I could not write" in agy.result(job)


def test_a_long_prompt_goes_by_a_private_file(agy: World) -> None:
    words = "- a line of the task\n" * 2000
    (agy.root / "task.md").write_text(words)
    job, _done = agy.job("run", "--lane", "gemini", "--task-file", str(agy.root / "task.md"))
    assert job["state"] == "done", job
    (start,) = starts(agy)
    assert words.strip() in start["prompt"]
    assert max(map(len, start["argv"])) < 1024


@pytest.mark.parametrize(
    ("what", "outcome"),
    [
        ("timeout", "failed"),
        ("model", "model-gone"),
        ("sign-in", "auth"),
        ("quota", "plan-limit"),
        ("silent", "empty-output"),
    ],
)
def test_its_failures_are_told_from_its_words_whatever_its_exit_code(agy: World, what: str, outcome: str) -> None:
    job, _done = agy.job("run", "--lane", "gemini", "A question?", FAKE_AGY=what)
    assert (job["state"], job["outcome"]) == ("failed", outcome), job


def test_gemini_cli_can_be_forced_and_its_absence_is_told(agy: World) -> None:
    done = agy.osrc("run", "--lane", "gemini", "--json", "A question?", OSRC_GEMINI_VEHICLE="gemini")
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "lane_not_ready"
    assert "gemini" in error["message"]
