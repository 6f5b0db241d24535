"""The real OpenCode and Cline through ``osrc``, against a scripted model: the right verdict for each case.

Seen on OpenCode 1.18.33 and Cline 3.0.65.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.model_dialects import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS
from fakes.provider_clis import MODELS, bwrap_folder, set_up, why_absent
from fakes.real_clis import NESTED, World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

BOTH = pytest.mark.parametrize("lane", ["opencode", "cline"])
OPENCODE = pytest.mark.parametrize("lane", ["opencode"])
CLINE = pytest.mark.parametrize("lane", ["cline"])

ANSWER = {"text": "The answer is forty-two, of course.", "mark": "DONE"}
SHORT_WINDOWS = {"OSRC_POLL": "0.5", "OSRC_STALL_WARN": "2", "OSRC_STALL_KILL": "6"}
COMPARE = {"OSRC_WALL": "compare"}

Run = Callable[..., tuple[dict[str, Any], int, World]]


@pytest.fixture
def run(make_world: Callable[[list[dict[str, Any]]], World], lane: str) -> Run:
    """Run one job on ``lane`` in a world that plays ``steps``, a function of the repository's path or a list."""
    reason = why_absent(lane)
    if reason is not None:
        pytest.skip(reason)
    world = make_world([])
    environ = set_up(world, lane)

    def go(steps: Any, verb: str = "run", *words: str, **more: str) -> tuple[dict[str, Any], int, World]:
        world.server.steps = steps(world.repo) if callable(steps) else steps
        words = words or ("Do what the script says.",)
        job, done = world.job(verb, "--lane", lane, "-m", MODELS[lane], *words, **(environ | more))
        assert job["lane"] == lane
        return job, done.returncode, world

    return go


def reported(job: dict[str, Any]) -> dict[str, int]:
    return {name: count for name, count in (job["cost"]["tokens"] or {}).items() if count}


def tokens(requests: int) -> dict[str, int]:
    """What a job must report after that many good answers: cached tokens apart."""
    counts = {"input": INPUT_TOKENS - CACHED_TOKENS, "cached_input": CACHED_TOKENS, "output": OUTPUT_TOKENS}
    return {name: count * requests for name, count in counts.items()}


def write_and_shell(repo: Path) -> list[dict[str, Any]]:
    return [
        {"text": "I will write.", "calls": [{"write": f"{repo}/hello.txt", "content": "hello\n"}]},
        {"calls": [{"shell": "echo ran > ran.txt"}]},
    ]


@BOTH
def test_a_plain_answer(run: Run, lane: str) -> None:
    job, code, world = run([ANSWER])
    told = {"cline": "[verified] stub-model ran"}.get(lane)  # OpenCode's stream names no model
    assert (job["state"], job["exit"], code, job["note"]) == ("done", 0, 0, told), job
    assert world.result(job) == ANSWER["text"]
    assert job["model"] == MODELS[lane]
    assert job["model_observed"] == {"cline": "stub-model"}.get(lane)
    assert [request.body["model"] for request in world.server.requests] == ["stub-model"]
    assert reported(job) == tokens(1)
    assert (job["cost"]["kind"], job["cost"]["cash_usd"], job["cost"]["measured"]) == ("unknown", None, False)


@BOTH
def test_a_file_edit_and_a_command(run: Run, lane: str) -> None:
    job, code, world = run(lambda repo: [*write_and_shell(repo), ANSWER], "edit")
    assert (job["state"], code) == ("done", 0), job
    assert (world.repo / "hello.txt").read_text() == "hello\n"
    assert (world.repo / "ran.txt").read_text() == "ran\n"
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (1, 1)
    assert reported(job) == tokens(3)


@BOTH
def test_a_write_and_a_command_under_run_are_refused_and_seen(run: Run, lane: str) -> None:
    blocked = {"text": "I was not allowed to write.", "mark": "BLOCKED"}
    job, code, world = run(lambda repo: [*write_and_shell(repo), blocked], **COMPARE)
    assert (job["state"], job["exit"], code) == ("blocked", 3, 3), job
    assert sorted(path.name for path in world.repo.iterdir()) == [".git"]
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (0, 0)
    assert "2 tool uses refused" in job["note"]


def loose_write(lane: str, repo: Path) -> dict[str, Any]:
    """A command that changes the work tree and that Cline's plan mode lets pass: it only looks for redirections elsewhere."""
    assert str(repo).startswith("/tmp/"), lane
    return {"calls": [{"shell": f"echo x > '{repo}/loose.txt'"}]}


@CLINE
def test_what_plan_mode_lets_pass_is_a_breach(run: Run, lane: str) -> None:
    job, code, world = run(lambda repo: [loose_write(lane, repo), ANSWER], **COMPARE)
    if not (world.repo / "loose.txt").exists():
        pytest.skip("the repository is not where this version lets a command write in plan mode")
    assert (job["state"], job["outcome"], code) == ("failed", "read-only-breach", 1), job
    assert job["reason"] == "read-only breach: added loose.txt"
    assert world.result(job) == ANSWER["text"]


@BOTH
@pytest.mark.skipif(bwrap_folder() is None, reason="bubblewrap is not here, or may not make user namespaces")
def test_behind_our_wall_it_answers_and_a_command_can_not_write(run: Run, lane: str) -> None:
    path = os.pathsep.join([str(bwrap_folder()), *_path()])
    job, code, world = run(lambda repo: [loose_write(lane, repo), ANSWER], PATH=path)
    assert (job["state"], code) == ("done", 0), job
    assert not (world.repo / "loose.txt").exists()
    assert "1 tool use refused" in job["note"]
    assert reported(job) == tokens(2)


def _path() -> list[str]:
    from fakes.real_clis import folder  # noqa: PLC0415

    return [str(folder() / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]


@BOTH
def test_a_refused_key(run: Run, lane: str) -> None:
    job, code, world = run([{"error": 401, "repeat": 0}], OSRC_POLL="0.5")
    assert (job["state"], job["outcome"], code) == ("failed", "auth", 1), job
    assert len(world.server.main_requests) <= 2


@BOTH
def test_one_refusal_for_now_is_got_over(run: Run, lane: str) -> None:
    job, code, world = run([{"error": 429}, ANSWER])
    assert (job["state"], code) == ("done", 0), job
    assert len(world.server.main_requests) == 2


@BOTH
def test_a_stream_that_stalls_in_the_middle(run: Run, lane: str) -> None:
    job, code, _world = run([{"text": "one two three four five six", "stall": 120, "repeat": 0}], **SHORT_WINDOWS)
    assert (job["state"], job["exit"], code) == ("wedged", 125, 125), job


@BOTH
def test_a_dropped_connection_recovers(run: Run, lane: str) -> None:
    job, code, world = run([{"text": "one two three four", "drop": True}, ANSWER])
    assert (job["state"], code) == ("done", 0), job
    assert world.result(job).startswith(ANSWER["text"])
    assert len(world.server.main_requests) == 2


@BOTH
def test_it_starts_from_inside_another_session_without_a_daemon(run: Run, lane: str) -> None:
    job, code, _world = run([ANSWER], "run", "--no-daemon", "Do what the script says.", **NESTED)
    assert (job["state"], code) == ("done", 0), job


@BOTH
def test_a_long_prompt_arrives_whole(run: Run, lane: str, tmp_path: Path) -> None:
    task = tmp_path / "task.md"
    line = "- Dies ist Zeile {} mit Umlauten: äöü, und \u2014 Strichen.\n"
    task.write_text("".join(line.format(number) for number in range(4000)))
    job, code, world = run([ANSWER], "run", "--task-file", str(task))
    if lane == "opencode":
        assert (job["state"], code) == ("done", 0), job
        assert task.read_text().strip() in world.server.main_requests[0].text
    else:
        # The scripted model opens no file, so it can't sign.
        assert (job["state"], code) == ("done?", 2), job
        name = world.osrc_home / "jobs" / job["job_id"] / "cline-prompt.md"
        assert str(name) in world.server.main_requests[0].text
        assert task.read_text().strip() in name.read_text()


@OPENCODE
def test_an_answer_cut_at_its_length_limit_is_not_done(run: Run, lane: str) -> None:
    job, code, _world = run([{"text": "cut off in the", "finish": "length"}])
    assert (job["state"], job["outcome"], code) == ("failed", "output-limit", 1), job


@CLINE
def test_no_daemon_of_its_own_stays(run: Run, lane: str) -> None:
    job, _code, world = run([ANSWER], "edit")
    assert job["state"] == "done"
    listed = subprocess.run(("pgrep", "-af", "cline-hub-daemon"), check=False, capture_output=True, text=True)
    assert str(world.repo) not in listed.stdout
    assert not (world.root / "home" / ".cline" / "data" / "logs" / "hub-daemon.log").exists()


@BOTH
@pytest.mark.parametrize("wanted", [False, True])
def test_the_users_own_tool_servers_stay_out_unless_they_are_wanted(
    run: Run, lane: str, wanted: bool, tmp_path: Path
) -> None:
    server = str(Path(__file__).parents[1] / "fakes" / "fake_mcp_server.py")
    home = tmp_path / "w" / "home"
    if lane == "cline":
        place = home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"
        place.write_text(json.dumps({"mcpServers": {"mine": {"command": sys.executable, "args": [server]}}}))
    else:
        place = home / ".config" / "opencode" / "opencode.json"
        mine = {"type": "local", "command": [sys.executable, server], "enabled": True}
        place.write_text(json.dumps(json.loads(place.read_text()) | {"mcp": {"mine": mine}}))
    job, _code, world = run([ANSWER], "edit", **({f"OSRC_{lane.upper()}_USER_MCP": "1"} if wanted else {}))
    assert job["state"] == "done"
    names = [tool["function"]["name"] for tool in world.server.main_requests[0].body["tools"]]
    assert bool([name for name in names if "greet" in name]) is wanted, names
