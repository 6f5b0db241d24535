"""claudex with the real Claude Code (2.1.332) through a scripted proxy, and tokenrouter through a scripted gateway."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fakes.files import holding
from fakes.model_dialects import OUTPUT_TOKENS
from fakes.real_clis import World

pytestmark = pytest.mark.e2e

KEY = "sk-proxy-0123456789-secret"
ANSWER = {"text": "The answer is forty-two, of course.", "mark": "DONE"}
MakeWorld = Callable[[list[dict[str, Any]]], World]


@pytest.fixture
def proxy(make_world: MakeWorld) -> MakeWorld:
    """Make a world whose server is a proxy with a file of its own, and a gateway with a key in ``~/.env``."""

    def make(steps: list[dict[str, Any]]) -> World:
        world = make_world(steps)
        world.server.key, world.server.models = KEY, ("gpt-5.6-sol", "gpt-5.5")
        home = world.root / "home"
        (home / ".cli-proxy-api").mkdir()
        (home / ".cli-proxy-api" / "config.yaml").write_text(f"port: 1\napi-keys:\n  - {KEY}\n")
        (home / ".env").write_text(f"TOKENROUTER_API_KEY={KEY}\n")
        world.environ["OSRC_CLAUDEX_URL"] = world.server.url
        world.environ["OSRC_TOKENROUTER_URL"] = f"{world.server.url}/v1"
        return world

    return make


def test_a_chatgpt_model_through_the_proxy(proxy: MakeWorld) -> None:
    world = proxy([])
    world.server.steps = [{"text": "I run it.", "calls": [{"shell": "echo ran > ran.txt"}]}, ANSWER]
    job, done = world.job("edit", "--lane", "claudex", "--effort", "high", "Do what the script says.")
    assert (job["lane"], job["state"], done.returncode) == ("claudex", "done", 0)
    assert (world.repo / "ran.txt").exists()
    request = world.server.main_requests[0]
    # The world's own ANTHROPIC_API_KEY must not go there.
    assert (request.headers["authorization"], request.headers.get("x-api-key")) == (f"Bearer {KEY}", None)
    assert {request.body["model"] for request in world.server.main_requests} == {"gpt-5.6-sol"}
    assert (job["cost"]["kind"], job["cost"]["plan"]) == ("plan", "ChatGPT")
    assert holding(world.osrc_home, KEY) == []


def test_a_claude_model_is_refused_before_anything_is_sent(proxy: MakeWorld) -> None:
    world = proxy([])
    for model in ("opus", "claude-sonnet-5", "anthropic/claude-opus-4.8"):
        done = world.osrc("run", "--lane", "claudex", "-m", model, "--json", "Anything.")
        assert json.loads(done.stdout)["error"]["code"] == "lane_conflict"
    assert world.server.main_requests == []


def test_a_proxy_that_does_not_answer_is_absent(proxy: MakeWorld) -> None:
    world = proxy([])
    shown = json.loads(world.osrc("lanes", "show", "claudex", "--json").stdout)
    assert shown["ready"] == "answering"
    assert "gpt-5.6-sol" in shown["detail"]
    away = {"OSRC_CLAUDEX_URL": "http://127.0.0.1:9"}
    shown = json.loads(world.osrc("lanes", "show", "claudex", "--json", **away).stdout)
    assert shown["ready"] == "absent"
    done = world.osrc("run", "--lane", "claudex", "--json", "Anything.", **away)
    assert json.loads(done.stdout)["error"]["code"] == "lane_not_ready"


def test_tokenrouter_answers_in_text(proxy: MakeWorld) -> None:
    world = proxy([ANSWER])
    job, done = world.job("run", "--lane", "tokenrouter", "-m", "vendor/model", "A question?")
    assert (job["lane"], job["state"], done.returncode) == ("tokenrouter", "done", 0)
    assert ANSWER["text"] in done.stdout
    [request] = world.server.main_requests
    assert (request.dialect, request.body["model"]) == ("chat", "vendor/model")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert (job["cost"]["kind"], job["cost"]["cash_usd"], job["cost"]["measured"]) == ("metered", None, False)
    assert job["cost"]["tokens"]["output"] == OUTPUT_TOKENS
    assert holding(world.osrc_home, KEY) == []


@pytest.mark.parametrize(
    ("status", "outcome"), [(401, "auth"), (402, "plan-limit"), (404, "model-gone"), (429, "rate-limit")]
)
def test_tokenrouters_failures_have_their_kind(proxy: MakeWorld, status: int, outcome: str) -> None:
    world = proxy([{"error": status, "repeat": 0}])
    job, _done = world.job("run", "--lane", "tokenrouter", "-m", "vendor/model", "A question?")
    assert (job["state"], job["outcome"]) == ("failed", outcome)
    assert KEY not in json.dumps(job)


def test_tokenrouter_needs_a_model(proxy: MakeWorld) -> None:
    done = proxy([]).osrc("run", "--lane", "tokenrouter", "--json", "A question?")
    error = json.loads(done.stdout)["error"]
    assert "no default model" in error["message"]
    assert "/models" in error["hint"]
