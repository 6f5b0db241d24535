"""Real ACP agents on the lane ``acp:COMMAND``, against a scripted model.

Seen on Gemini CLI 0.61.0 and Qwen Code 0.24.4.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.google_clis import GEMINI_MODEL, QWEN_MODEL, sign_in, why_absent
from fakes.lanes import write_lane
from fakes.real_clis import World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

AGENTS = {"gemini": "acp:gemini --acp", "qwen": "acp:qwen --acp --auth-type openai"}
MODELS = {"gemini": GEMINI_MODEL, "qwen": QWEN_MODEL}
BOTH = pytest.mark.parametrize("cli", ["gemini", "qwen"])
GEMINI = pytest.mark.parametrize("cli", ["gemini"])

ANSWER = {"text": "The answer is forty-two, of course.", "mark": "DONE"}
Run = Callable[..., tuple[dict[str, Any], int, World]]


@pytest.fixture
def run(make_world: Callable[[list[dict[str, Any]]], World], cli: str) -> Run:
    """Run one job of ``cli`` over ACP in a world whose model plays ``steps``."""
    reason = why_absent(cli)
    if reason is not None:
        pytest.skip(reason)
    world = make_world([])
    environ = sign_in(world, cli) | {"GEMINI_CLI_TRUST_WORKSPACE": "true", "OSRC_POLL": "0.5"}

    def go(
        steps: Any, verb: str, *words: str, lane: str = AGENTS[cli], **more: str
    ) -> tuple[dict[str, Any], int, World]:
        world.server.steps = steps(world.repo) if callable(steps) else steps
        job, done = world.job(verb, "--lane", lane, *words, "Do what the script says.", **(environ | more))
        return job, done.returncode, world

    return go


def writing(repo: Path) -> list[dict[str, Any]]:
    write = {"write": f"{repo}/hello.txt", "content": "hello\n"}
    return [{"text": "I will write.", "calls": [write]}, {"calls": [{"shell": "echo ran > ran.txt"}]}, ANSWER]


@BOTH
def test_a_file_and_a_command(run: Run, cli: str) -> None:
    job, code, world = run(writing, "edit")
    assert (job["state"], code) == ("done", 0)
    assert (job["lane"], job["vehicle"], job["model_observed"]) == (AGENTS[cli], cli, MODELS[cli])
    assert (world.repo / "hello.txt").read_text() == "hello\n"
    assert (world.repo / "ran.txt").read_text() == "ran\n"
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (1, 1)
    assert world.result(job).startswith(ANSWER["text"])
    if cli == "gemini":  # qwen says nothing of tokens over ACP
        assert job["cost"]["tokens"]["output"] == 3 * 56


@BOTH
def test_an_edit_under_run_is_refused_and_seen(run: Run, cli: str) -> None:
    job, code, world = run(writing, "run")
    assert not (world.repo / "hello.txt").exists()
    assert not (world.repo / "ran.txt").exists()
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (0, 0)
    assert "refused" in job["note"]
    # gemini is told and goes on; qwen ends its turn without a word.
    assert (job["state"], code) == (("done", 0) if cli == "gemini" else ("permission-blocked", 3))


@GEMINI
def test_a_spent_limit(run: Run) -> None:
    job, code, _world = run([{"error": 429, "kind": "quota", "repeat": 0}], "run")
    assert (job["state"], job["outcome"], code) == ("failed", "plan-limit", 1)


@GEMINI
def test_a_stall_ends_with_nothing_left(run: Run) -> None:
    # gemini itself ignores TERM for half a minute; the world of the test fails if a process stays.
    windows = {"OSRC_STALL_WARN": "2", "OSRC_STALL_KILL": "6", "OSRC_NOINIT_SECS": "60"}
    job, code, _world = run([{"text": "one two three four", "stall": 90, "repeat": 0}], "run", **windows)
    assert (job["state"], code) == ("wedged", 125)


@GEMINI
def test_a_refused_key(run: Run) -> None:
    job, code, _world = run([{"error": 401, "repeat": 0}], "run")
    assert (job["state"], job["outcome"], code) == ("failed", "auth", 1)


@GEMINI
def test_a_declared_lane_is_the_same(run: Run, make_world: Any, tmp_path: Path) -> None:
    lane = 'argv = ["gemini", "--acp"]\noutput = "acp"\nwall = "ours"\n[verbs]\nrun = "READ-ONLY"\nedit = "MUTATING"\n'
    write_lane(tmp_path / "w" / "osrc", "mine", lane)
    job, code, world = run(writing, "edit", lane="mine")
    assert (job["lane"], job["state"], code) == ("mine", "done", 0)
    assert (world.repo / "hello.txt").exists()


@GEMINI
def test_a_model_is_chosen_by_the_agents_own_id(run: Run) -> None:
    job, code, world = run([ANSWER], "run", "-m", "gemini-2.5-pro")
    assert (job["state"], code) == ("done", 0), job
    assert any("gemini-2.5-pro" in request.path for request in world.server.main_requests)
