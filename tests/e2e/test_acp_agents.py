"""Real ACP agents on the lane ``acp:COMMAND``, against a scripted model.

Seen on Gemini CLI 0.61.0 and Qwen Code 0.24.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.cli_jobs import ANSWER, SHORT_WINDOWS, TASK, Worlds, write_and_shell
from fakes.lanes import write_lane
from fakes.real_clis import World
from fakes.signed_in import MODELS, sign_in

pytestmark = pytest.mark.e2e

AGENTS = {"gemini": "acp:gemini --acp", "qwen": "acp:qwen --acp --auth-type openai"}
BOTH = pytest.mark.parametrize("cli", ["gemini", "qwen"])
GEMINI = pytest.mark.parametrize("cli", ["gemini"])

Run = Callable[..., tuple[dict[str, Any], int, World]]


class Agent:
    """One CLI over ACP in a world."""

    def __init__(self, world: World, environ: dict[str, str], cli: str) -> None:
        self.world, self.lane = world, AGENTS[cli]
        self.environ = environ | {"GEMINI_CLI_TRUST_WORKSPACE": "true", "OSRC_POLL": "0.5"}

    def run(self, steps: Any, verb: str, *words: str, lane: str = "", **more: str) -> tuple[dict[str, Any], int, World]:
        """Run one job whose model plays ``steps``."""
        self.world.server.steps = steps(self.world.repo) if callable(steps) else steps
        lane = lane or self.lane
        job, done = self.world.job(verb, "--lane", lane, *words, TASK, **(self.environ | more))
        return job, done.returncode, self.world


@pytest.fixture
def run(worlds: Worlds, cli: str) -> Iterator[Run]:
    """Run jobs of ``cli`` over ACP in the world that it shares with the other tests of this file."""
    with worlds.lane(cli) as made:
        yield Agent(made.world, made.environ, cli).run


@pytest.fixture
def run_alone(make_world: Callable[[list[dict[str, Any]]], World], cli: str) -> Run:
    """Run jobs of ``cli`` over ACP in a world of the test's own."""
    world = make_world([])
    return Agent(world, sign_in(world, cli), cli).run


def writing(repo: Path) -> list[dict[str, Any]]:
    return [*write_and_shell(repo), ANSWER]


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
def test_a_spent_limit(run_alone: Run) -> None:
    job, code, _world = run_alone([{"error": 429, "kind": "quota", "repeat": 0}], "run")
    assert (job["state"], job["outcome"], code) == ("failed", "plan-limit", 1)


@GEMINI
def test_a_stall_ends_with_nothing_left(run: Run) -> None:
    # gemini itself ignores TERM for half a minute; the test fails if a process stays.
    job, code, _world = run([{"text": "one two three four", "stall": 90, "repeat": 0}], "run", **SHORT_WINDOWS)
    assert (job["state"], code) == ("wedged", 125)


@GEMINI
def test_a_refused_key(run_alone: Run) -> None:
    job, code, _world = run_alone([{"error": 401, "repeat": 0}], "run")
    assert (job["state"], job["outcome"], code) == ("failed", "auth", 1)


@GEMINI
def test_a_declared_lane_is_the_same(run_alone: Run, tmp_path: Path) -> None:
    lane = 'argv = ["gemini", "--acp"]\noutput = "acp"\nwall = "ours"\n[verbs]\nrun = "READ-ONLY"\nedit = "MUTATING"\n'
    write_lane(tmp_path / "w" / "osrc", "mine", lane)
    job, code, world = run_alone(writing, "edit", lane="mine")
    assert (job["lane"], job["state"], code) == ("mine", "done", 0)
    assert (world.repo / "hello.txt").exists()


@GEMINI
def test_a_model_is_chosen_by_the_agents_own_id(run: Run) -> None:
    job, code, world = run([ANSWER], "run", "-m", "gemini-2.5-pro")
    assert (job["state"], code) == ("done", 0), job
    assert any("gemini-2.5-pro" in request.path for request in world.server.main_requests)
