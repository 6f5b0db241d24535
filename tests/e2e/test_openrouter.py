"""Claude Code and Codex over OpenRouter, through ``osrc``, against a scripted gateway that bills its generations.

Seen on Claude Code 2.1.332 and Codex 0.171.0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fakes.cli_jobs import ANSWER, BLOCKED, CUT, REFUSED_KEY, SHORT_WINDOWS, STALL, Worlds
from fakes.files import holding
from fakes.model_dialects import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS
from fakes.real_clis import World, why_absent

pytestmark = pytest.mark.e2e

KEY = "sk-or-v1-0123456789abcdef-secret"
MODEL = "z-ai/glm-5.2"
PRICE = 0.0125
BOTH = pytest.mark.parametrize("lane", ["cc", "codexor"])

MakeGateway = Callable[[list[dict[str, Any]]], World]


def sign_in(world: World, _lane: str) -> dict[str, str]:
    """Leave the gateway as the only way out; the key stands in ``~/.env`` alone."""
    world.server.price, world.server.key = PRICE, KEY
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "OSRC_CODEX_USER_CONFIG"):
        del world.environ[name]
    world.environ["OSRC_OPENROUTER_URL"] = world.server.url
    (world.root / "home" / ".env").write_text(f'OTHER=1\nexport OPENROUTER_API_KEY="{KEY}" # mine\n')
    return {}


@pytest.fixture
def gateway(worlds: Worlds) -> Iterator[MakeGateway]:
    """Give the gateway, which the tests of this file share, a script."""
    reason = why_absent()
    if reason is not None:
        pytest.skip(reason)
    with worlds.lane("gateway", sign_in) as made:
        made.world.server.unready = 0

        def play(steps: list[dict[str, Any]]) -> World:
            made.world.server.steps = steps
            return made.world

        yield play


@pytest.fixture
def gateway_alone(make_world: MakeGateway) -> MakeGateway:
    """Make a gateway of the test's own."""

    def make(steps: list[dict[str, Any]]) -> World:
        world = make_world(steps)
        sign_in(world, "")
        return world

    return make


def run(world: World, lane: str, verb: str = "run", *words: str, **environ: str) -> tuple[dict[str, Any], int]:
    job, done = world.job(verb, "--lane", lane, *words, "Do what the script says.", **environ)
    assert job["lane"] == lane, done.stderr
    return job, done.returncode


@BOTH
def test_a_plain_answer_on_the_key_of_the_env_file_which_no_work_tree_leads_elsewhere(
    gateway: MakeGateway, lane: str
) -> None:
    world = gateway([ANSWER])
    (world.repo / ".claude").mkdir()
    elsewhere = {"env": {"ANTHROPIC_AUTH_TOKEN": "theirs", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}}
    (world.repo / ".claude" / "settings.json").write_text(json.dumps(elsewhere))
    job, code = run(world, lane)
    assert (job["state"], job["exit"], code) == ("done", 0, 0)
    assert (job["model"], job["tier"], job["cost"]["kind"]) == (MODEL, "capable", "metered")
    [request] = world.server.main_requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["model"] == MODEL
    assert job["cost"]["tokens"]["output"] == OUTPUT_TOKENS
    assert holding(world.osrc_home, KEY) == []


def test_a_partial_sum_is_never_exact(gateway_alone: MakeGateway) -> None:
    world = gateway_alone([ANSWER])
    world.server.unready = 1000
    prices = {"prompt": "0.000001", "completion": "0.00001", "input_cache_read": "0"}
    world.osrc_home.mkdir(mode=0o700, exist_ok=True)
    (world.osrc_home / "models.json").write_text(json.dumps({"data": [{"id": MODEL, "pricing": prices}]}))
    job, code = run(world, "cc", OSRC_RECEIPT_WAIT="1")
    assert (job["state"], code) == ("done", 0)
    assert job["cost"]["measured"] is False
    assert job["cost"]["cash_usd"] == pytest.approx(INPUT_TOKENS * 1e-6 + OUTPUT_TOKENS * 1e-5)


def test_codex_names_no_generation_so_its_cost_is_an_estimate(gateway_alone: MakeGateway) -> None:
    world = gateway_alone([ANSWER])
    prices = {"prompt": "0.000001", "completion": "0.00001"}
    world.osrc_home.mkdir(mode=0o700, exist_ok=True)
    (world.osrc_home / "models.json").write_text(json.dumps({"data": [{"id": MODEL, "pricing": prices}]}))
    job, _code = run(world, "codexor")
    assert job["cost"]["measured"] is False
    assert job["cost"]["cash_usd"] == pytest.approx(INPUT_TOKENS * 1e-6 + OUTPUT_TOKENS * 1e-5)
    assert CACHED_TOKENS < INPUT_TOKENS  # they are part of what it calls input


@BOTH
def test_a_turn_is_ended_while_it_goes_on_before_it_passes_the_budget(gateway_alone: MakeGateway, lane: str) -> None:
    world = gateway_alone([*({"calls": [{"shell": f"sleep 1; echo {number}"}]} for number in range(20)), ANSWER])
    world.osrc_home.mkdir(mode=0o700, exist_ok=True)
    prices = {"prompt": "0.0001", "completion": "0", "input_cache_read": "0.0001"}
    (world.osrc_home / "models.json").write_text(json.dumps({"data": [{"id": MODEL, "pricing": prices}]}))
    job, code = run(world, lane, "yolo", OSRC_BUDGET_JOB="0.3", OSRC_RECEIPT_WAIT="0", OSRC_FALLBACK="0")
    assert (job["state"], job["reason"], code) == ("failed", "max_usd", 1), job
    assert job["cost"]["cash_usd"] > 0, job
    assert len(world.server.main_requests) < 20
    assert job["cost"]["tokens"] is None  # an estimate of what was seen is no count


def edits(world: World, first: dict[str, str], second: str) -> None:
    """Play a file and a command."""
    world.server.steps = [
        {"text": "I will write a file.", "calls": [first]},
        {"calls": [{"shell": second}]},
        ANSWER,
    ]


def test_a_file_edit_and_a_command_and_what_they_cost_is_read_back(gateway: MakeGateway) -> None:
    world = gateway([])
    world.server.unready = 1  # a receipt exists only some time after its generation
    edits(world, {"write": f"{world.repo}/hello.txt", "content": "hello\n"}, "echo ran > ran.txt")
    job, code = run(world, "cc", "edit")
    assert (job["state"], code) == ("done", 0)
    assert (world.repo / "hello.txt").read_text() == "hello\n"
    assert (world.repo / "ran.txt").read_text() == "ran\n"
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (1, 1)
    assert (job["cost"]["cash_usd"], job["cost"]["measured"]) == (pytest.approx(3 * PRICE), True)
    shown = world.osrc("status", job["job_id"]).stdout + world.osrc("explain", job["job_id"]).stdout
    assert KEY not in shown


def test_codex_writes_with_the_shell_and_gives_the_key_to_no_command(gateway: MakeGateway) -> None:
    """It gives its patch tool to models it knows only."""
    world = gateway([])
    edits(world, {"shell": "echo hello > hello.txt"}, "env > env.txt")
    job, code = run(world, "codexor", "edit")
    assert (job["state"], code) == ("done", 0)
    assert (world.repo / "hello.txt").read_text() == "hello\n"
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (0, 2)
    seen = (world.repo / "env.txt").read_text()
    assert "OUTSOURCERER_DEPTH=1" in seen
    assert KEY not in seen


@BOTH
def test_an_edit_under_run_is_refused_and_seen(gateway: MakeGateway, lane: str) -> None:
    world = gateway([])
    write = {"write": f"{world.repo}/no.txt", "content": "no\n"}
    world.server.steps = [{"text": "I will write.", "calls": [write]}, BLOCKED]
    job, code = run(world, lane)
    assert (job["state"], code) == ("blocked", 3)
    assert not (world.repo / "no.txt").exists()
    assert job["progress"]["writes"] == 0


@BOTH
def test_a_refused_key(gateway_alone: MakeGateway, lane: str) -> None:
    world = gateway_alone([REFUSED_KEY])
    job, code = run(world, lane, OSRC_POLL="0.5")
    assert (job["state"], job["exit"], code) == ("failed", 1, 1)
    assert "auth" in (job["outcome"], job["reason"])
    assert KEY not in json.dumps(job)


def test_claude_gets_over_one_request_too_many_and_a_dropped_connection(gateway: MakeGateway) -> None:
    once = {"error": 429, "kind": "rate", "headers": {"retry-after": "1"}}
    world = gateway([once, CUT, ANSWER])
    job, code = run(world, "cc")
    assert (job["state"], code) == ("done", 0)
    assert len(world.server.main_requests) == 3
    assert job["cost"]["measured"] is False  # what came before the cut may have been billed


def test_codex_gives_up_on_a_429_of_a_provider_that_is_not_openais(gateway_alone: MakeGateway) -> None:
    world = gateway_alone([{"error": 429, "kind": "rate", "headers": {"retry-after": "1"}}, ANSWER])
    job, _code = run(world, "codexor")
    assert job["state"] in ("done", "failed")


def test_codex_gets_over_a_dropped_connection(gateway: MakeGateway) -> None:
    world = gateway([CUT, ANSWER])
    job, code = run(world, "codexor")
    assert (job["state"], code) == ("done", 0)
    assert job["cost"]["measured"] is False


def test_the_offload_chain_is_walked_where_the_connection_is_lost_for_good(gateway_alone: MakeGateway) -> None:
    world = gateway_alone([CUT | {"repeat": 6}, ANSWER])
    chain = "z-ai/glm-5.2,deepseek/deepseek-v4-pro"
    job, _done = world.job(
        "run", "--lane", "codexor", "Do what the script says.", OSRC_FALLBACK="1", OR_OFFLOAD_CHAIN=chain
    )
    assert (job["state"], job["lane"], job["model"]) == ("done", "codexor", "deepseek/deepseek-v4-pro")
    [over] = job["hops"]
    assert (over["lane"], over["model"], over["outcome"]) == ("codexor", "z-ai/glm-5.2", "transport")
    asked = [request.body["model"] for request in world.server.main_requests]
    assert asked == ["z-ai/glm-5.2"] * 6 + ["deepseek/deepseek-v4-pro"]


@BOTH
def test_a_stream_that_stalls(gateway: MakeGateway, lane: str) -> None:
    job, code = run(gateway([STALL]), lane, **SHORT_WINDOWS, OSRC_RECEIPT_WAIT="0")
    assert (job["state"], code) == ("wedged", 125)


@BOTH
def test_the_key_is_in_no_command_line(gateway: MakeGateway, lane: str) -> None:
    world = gateway([ANSWER | {"calls": [{"shell": "cat /proc/*/cmdline > all.txt 2>/dev/null; true"}]}, ANSWER])
    job, _code = run(world, lane, "yolo")
    assert job["state"] == "done"
    seen = (world.repo / "all.txt").read_bytes()
    assert MODEL.encode() in seen  # the CLI itself is among what was looked at
    assert KEY.encode() not in seen


def test_spent_credits_refuse_before_anything_is_created(gateway_alone: MakeGateway) -> None:
    world = gateway_alone([ANSWER])
    world.server.credits = (10.0, 10.0)
    done = world.osrc("run", "--lane", "cc", "--json", "Anything.")
    error = json.loads(done.stdout)["error"]
    assert (error["code"], "credits" in error["message"]) == ("lane_not_ready", True)
    assert world.server.main_requests == []
    assert not list((world.osrc_home / "jobs").glob("*"))
    job, code = run(world, "cc", "run", "-m", "tencent/hy3:free")
    assert (job["state"], code) == ("done", 0)


@BOTH
def test_without_a_key_nothing_is_started(gateway_alone: MakeGateway, lane: str) -> None:
    world = gateway_alone([])
    (world.root / "home" / ".env").unlink()
    done = world.osrc("run", "--lane", lane, "--json", "Anything.")
    error = json.loads(done.stdout)["error"]
    assert (error["code"], done.returncode) == ("lane_not_ready", 1)
    assert "~/.env" in error["hint"]
    assert not list((world.osrc_home / "jobs").glob("*"))
