"""A local model with hands: the real Claude Code and Codex on a scripted OpenAI-compatible server.

Seen on Claude Code 2.1.332 and Codex 0.171.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.cli_jobs import CUT, SHORT_WINDOWS, Worlds
from fakes.files import holding
from fakes.real_clis import NESTED, World, why_absent

pytestmark = pytest.mark.e2e

ANSWER = {"text": "It is all done.", "mark": "DONE"}
ACCOUNTS = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "OSRC_CODEX_USER_CONFIG", "STUB_API_KEY")
KEY = "sk-local-secret-key"
BOTH = pytest.mark.parametrize("api", ["chat", "responses"])


def sign_in(world: World, _lane: str) -> dict[str, str]:
    """Leave a server on this machine, which wants a key, as the only model."""
    for name in ACCOUNTS:
        del world.environ[name]
    world.server.key = KEY
    world.environ.update(OSRC_LOCAL_URL=world.server.url, OSRC_LOCAL_KEY=KEY, OSRC_POLL="0.5", **NESTED)
    return {}


@pytest.fixture
def local(worlds: Worlds) -> Iterator[World]:
    """The world of a local model, which the tests of this file share."""
    reason = why_absent()
    if reason is not None:
        pytest.skip(reason)
    with worlds.lane("local", sign_in) as made:
        yield made.world


def working(repo: Path) -> list[dict[str, Any]]:
    calls = [{"shell": "echo one > one.txt"}, {"shell": "echo two > two.txt"}]
    return [{"text": "I will.", "calls": [{"write": f"{repo}/a.txt", "content": "a\n"}]}, {"calls": calls}, ANSWER]


@BOTH
def test_files_and_commands(local: World, api: str) -> None:
    local.server.steps = working(local.repo)
    job, done = local.job("edit", "-m", "local", "Do what the script says.", OSRC_LOCAL_API=api)
    assert (job["lane"], job["state"], done.returncode) == ("local", "done", 0)
    # Codex offers an unknown model no apply_patch: its write is refused, and it goes on.
    there = {"one.txt", "two.txt"} | ({"a.txt"} if api == "chat" else set())
    assert {path.name for path in local.repo.glob("*.txt")} == there
    assert (job["cost"]["kind"], job["cost"]["tokens"]["output"]) == ("free", 168)
    asked = {request.path for request in local.server.main_requests}
    assert asked == {"/v1/chat/completions" if api == "chat" else "/v1/responses"}
    assert {request.headers["authorization"] for request in local.server.main_requests} == {f"Bearer {KEY}"}
    assert holding(local.osrc_home, KEY) == []


@BOTH
def test_reading_verbs_get_tools_only_when_asked_and_none_that_write(local: World, api: str) -> None:
    local.server.steps = working(local.repo)
    job, _done = local.job("run", "-m", "local", "Look.", OSRC_LOCAL_API=api, OSRC_LOCAL_AGENTIC="1")
    assert job["state"] == "done"
    assert list(local.repo.glob("*.txt")) == []
    local.server.steps = [ANSWER]
    local.job("run", "-m", "local", "Look.", OSRC_LOCAL_API=api)
    assert "tools" not in local.server.main_requests[-1].body


def test_a_server_with_claudes_own_dialect(local: World) -> None:
    local.server.steps = [{"calls": [{"shell": "echo one > one.txt"}]}, ANSWER]
    job, done = local.job("edit", "-m", "local", "Do it.", OSRC_LOCAL_ANTHROPIC_URL=local.server.url)
    assert (job["state"], done.returncode) == ("done", 0)
    assert (local.repo / "one.txt").exists()
    assert {request.path.partition("?")[0] for request in local.server.main_requests} == {"/v1/messages"}


def test_a_server_that_fails(local: World) -> None:
    local.server.steps = [{"error": 503, "repeat": 0}]
    job, done = local.job("edit", "-m", "local", "Do it.")
    assert (job["state"], job["outcome"], done.returncode) == ("failed", "transport", 1)


def test_a_dropped_stream_recovers(local: World) -> None:
    local.server.steps = [CUT, ANSWER]
    job, done = local.job("edit", "-m", "local", "Do it.")
    assert (job["state"], done.returncode) == ("done", 0)


def test_a_stall_ends_with_nothing_left(local: World) -> None:
    local.server.steps = [{"text": "one two three four", "stall": 60, "repeat": 0}]
    job, done = local.job("edit", "-m", "local", "Do it.", **SHORT_WINDOWS)
    assert (job["state"], done.returncode) == ("wedged", 125)


@BOTH
def test_without_the_program_it_is_refused_clearly(local: World, api: str) -> None:
    done = local.osrc("edit", "-m", "local", "Do it.", OSRC_LOCAL_API=api, PATH="/usr/bin:/bin")
    assert done.returncode == 1
    assert ("Claude Code" if api == "chat" else "Codex") in done.stderr
    assert "npm install" in done.stderr
