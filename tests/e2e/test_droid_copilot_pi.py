"""The real Droid, Copilot CLI and pi through ``osrc``, against a scripted model: the right verdict for each case.

Seen on Droid 0.215.0, GitHub Copilot CLI 1.0.102 and pi 0.73.1.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.cli_jobs import (
    ANSWER,
    BLOCKED,
    CUT,
    REFUSED_KEY,
    SHORT_WINDOWS,
    STALL,
    TOO_MANY,
    long_task,
    reported,
    tokens,
    write_and_shell,
)
from fakes.files import holding
from fakes.real_clis import NESTED, World, command_of, pids, why_absent
from fakes.signed_in import MCP_SERVER, MODELS, sign_in

pytestmark = pytest.mark.e2e

ALL = pytest.mark.parametrize("lane", ["droid", "copilot", "pi"])
COPILOT = pytest.mark.parametrize("lane", ["copilot"])
DROID = pytest.mark.parametrize("lane", ["droid"])
PI = pytest.mark.parametrize("lane", ["pi"])

Run = Callable[..., tuple[dict[str, Any], int, World]]


@ALL
def test_a_plain_answer(run: Run, lane: str) -> None:
    job, code, world = run([ANSWER])
    assert (job["state"], job["exit"], code) == ("done", 0, 0), job
    assert ANSWER["text"] in world.result(job)
    assert job["model"] == MODELS[lane]
    assert job["model_observed"] == {"droid": "custom:Stub-0"}.get(lane, "stub-model")
    assert [request.body["model"] for request in world.server.main_requests] == ["stub-model"]
    assert reported(job) == tokens(1)
    assert (job["cost"]["kind"], job["cost"]["measured"]) == ("unknown", False)


@ALL
def test_a_file_edit_and_a_command(run: Run, lane: str) -> None:
    job, code, world = run(lambda repo: [*write_and_shell(repo), ANSWER], "edit")
    assert (job["state"], code) == ("done", 0), job
    assert (world.repo / "hello.txt").read_text() == "hello\n"
    assert (world.repo / "ran.txt").read_text() == "ran\n"
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (1, 1)
    assert reported(job) == tokens(3)


@ALL
def test_a_write_and_a_command_under_run_are_refused_and_seen(run: Run, lane: str) -> None:
    """Droid's model calls its own command harmless here, which its "read-only" mode would believe."""
    everything = {"COPILOT_ALLOW_ALL": "true", "FACTORY_EXEC_TARGET_AUTONOMY": "high"}
    job, code, world = run(lambda repo: [*write_and_shell(repo), BLOCKED], **everything)
    assert (job["state"], job["exit"], code) == ("blocked", 3, 3), job
    assert sorted(path.name for path in world.repo.iterdir()) == [".git"]
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (0, 0)
    assert "2 tool uses refused" in job["note"]


@pytest.mark.parametrize("lane", ["droid", "copilot"])
def test_the_persons_own_tool_servers_stay_out_unless_they_are_wanted(run_alone: Run, lane: str) -> None:
    """Neither starts one, Copilot not even those of a folder that the person trusts."""
    made: list[Path] = []

    def steps(repo: Path) -> list[dict[str, Any]]:
        home = repo.parent / "home"
        made.append(home)
        if lane == "copilot":
            (home / ".copilot" / "config.json").write_text(json.dumps({"trustedFolders": [str(repo)]}))
            row = {"type": "stdio", "command": "touch", "args": [str(home / "ran-folder")], "tools": ["*"]}
            (repo / ".mcp.json").write_text(json.dumps({"mcpServers": {"folder": row}}))
        return [ANSWER]

    job, _code, world = run_alone(steps, "edit")
    assert job["state"] == "done", job
    body = json.dumps(world.server.main_requests[0].body)
    assert ("greet" in body, "ToolSearch" in body) == (False, False)
    assert sorted(path.name for path in made[0].glob("ran-*")) == []
    world.server.forget()
    job, _code, world = run_alone(steps, "edit", **{f"OSRC_{lane.upper()}_USER_MCP": "1"})
    assert job["state"] == "done", job
    body = json.dumps(world.server.main_requests[0].body)
    assert {"copilot": "greet", "droid": "ToolSearch"}[lane] in body
    ran = {path.name for path in made[0].glob("ran-*")}
    assert ran == {"copilot": {"ran-mine", "ran-folder"}, "droid": {"ran-mine"}}[lane]


@pytest.mark.parametrize("lane", ["droid", "copilot"])
def test_a_granted_tool_server_starts_alone_and_its_tools_may_be_used(run_alone: Run, lane: str) -> None:
    """Under a verb that changes nothing too: what a server does is its own affair. Its own namesake gives way."""
    made: list[Path] = []
    name = {"droid": "mine___greet", "copilot": "mine-greet"}[lane]
    load = [{"calls": [{"raw": "ToolSearch", "args": {"query": f"select:{name}"}}]}] if lane == "droid" else []

    def steps(repo: Path) -> list[dict[str, Any]]:
        home = repo.parent / "home"
        made.append(home)
        row = {"command": sys.executable, "args": ["-I", str(MCP_SERVER), str(home / "ran-granted")]}
        (home / ".claude.json").write_text(json.dumps({"mcpServers": {"mine": row, "other": row}}))
        return [*load, {"calls": [{"raw": name, "args": {}}]}, ANSWER]

    job, _code, world = run_alone(steps, "run", "--with", "mcp=mine", "Greet.")
    assert job["state"] == "done", job
    assert "hello from the server" in json.dumps(world.server.main_requests[-1].body)
    assert sorted(path.name for path in made[0].glob("ran-*")) == ["ran-granted"]
    assert list(world.osrc_home.glob("jobs/*/mcp.json")) == []


@PI
def test_a_read_only_verb_runs_no_extension_of_the_repository(run: Run, lane: str, tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    def steps(repo: Path) -> list[dict[str, Any]]:
        mine = repo / ".pi" / "extensions" / "mine.ts"
        mine.parent.mkdir(parents=True)
        mine.write_text(f'import {{ writeFileSync }} from "fs";\nexport default () => writeFileSync("{ran}", "");\n')
        return [ANSWER, ANSWER]

    job, _code, _world = run(steps)
    assert (job["state"], ran.exists()) == ("done", False)
    job, _code, _world = run([ANSWER], "edit", OSRC_TRUST_FOLDER="1")
    assert (job["state"], ran.exists()) == ("done", True)  # so it would have


@ALL
def test_a_refused_key(run_alone: Run, lane: str) -> None:
    job, code, world = run_alone([REFUSED_KEY], OSRC_POLL="0.5")
    assert (job["state"], job["outcome"], code) == ("failed", "auth", 1), job
    assert len(world.server.main_requests) <= 3


@ALL
def test_one_refusal_for_now_and_a_dropped_connection_are_got_over(run: Run, lane: str) -> None:
    job, code, world = run([TOO_MANY, CUT, ANSWER])
    assert (job["state"], code) == ("done", 0), job
    assert ANSWER["text"] in world.result(job)
    assert len(world.server.main_requests) == 3


@ALL
def test_a_stream_that_stalls_in_the_middle(run: Run, lane: str) -> None:
    job, code, _world = run([STALL], **SHORT_WINDOWS)
    assert (job["state"], job["exit"], code) == ("wedged", 125, 125), job


@ALL
def test_a_long_prompt_arrives_whole_from_inside_another_session_without_a_daemon(
    run: Run, lane: str, tmp_path: Path
) -> None:
    task = long_task(tmp_path)
    job, code, world = run([ANSWER], "run", "--no-daemon", "--task-file", str(task), **NESTED)
    assert (job["state"], code) == ("done", 0), job
    assert task.read_text().strip() in world.server.main_requests[0].text


@DROID
def test_a_command_beyond_the_autonomy_level_is_said_to_be_refused(run: Run, lane: str) -> None:
    call = {"shell": "sudo true"}
    job, code, _world = run([{"calls": [call]}, ANSWER], "edit")
    assert (job["state"], job["outcome"], code) == ("permission-blocked", "permission", 3), job


@COPILOT
def test_the_key_is_in_no_command_line_and_in_no_file_of_the_job(
    make_world: Callable[[list[dict[str, Any]]], World], lane: str
) -> None:
    key = "sk-a-key-to-look-for"
    world = make_world([ANSWER | {"stall": 600}])
    environ = sign_in(world, lane) | {"COPILOT_PROVIDER_API_KEY": key}
    job = world.osrc("bg", "--lane", lane, "-m", MODELS[lane], "Do it.", **environ).stdout.strip()
    end = time.monotonic() + 180
    while not world.server.main_requests:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert world.server.main_requests[0].headers["authorization"] == f"Bearer {key}"
    lines = [line for pid in pids() if (line := command_of(pid, str(world.root))) is not None]
    assert any("copilot" in line for line in lines)
    assert not any(key in line for line in lines)
    world.server.closing.set()  # ends the stall
    assert world.osrc("wait", job).returncode == 0
    assert holding(world.osrc_home, job)
    assert holding(world.osrc_home, key) == []


@ALL
def test_without_a_sign_in(make_world: Callable[[list[dict[str, Any]]], World], lane: str) -> None:
    reason = why_absent(lane)
    if reason is not None:
        pytest.skip(reason)
    world = make_world([])
    job, done = world.job("run", "--lane", lane, "Do it.", ANTHROPIC_API_KEY="", PI_OFFLINE="1")
    assert (job["state"], job["outcome"], done.returncode) == ("failed", "auth", 1), job
    assert world.server.main_requests == []
