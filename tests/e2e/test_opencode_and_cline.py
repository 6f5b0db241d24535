"""The real OpenCode and Cline through ``osrc``, against a scripted model: the right verdict for each case.

Seen on OpenCode 1.18.33 and Cline 3.0.65.
"""

from __future__ import annotations

import os
import subprocess
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
from fakes.real_clis import NESTED, World, folder
from fakes.signed_in import MODELS, bwrap_folder

pytestmark = pytest.mark.e2e

BOTH = pytest.mark.parametrize("lane", ["opencode", "cline"])
OPENCODE = pytest.mark.parametrize("lane", ["opencode"])
CLINE = pytest.mark.parametrize("lane", ["cline"])

COMPARE = {"OSRC_WALL": "compare"}
Run = Callable[..., tuple[dict[str, Any], int, World]]


def tools(world: World) -> list[str]:
    """The names of the tools that the model was offered first."""
    return [tool["function"]["name"] for tool in world.server.main_requests[0].body["tools"]]


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
def test_a_file_edit_and_a_command_without_the_users_own_tool_servers(run: Run, lane: str) -> None:
    job, code, world = run(lambda repo: [*write_and_shell(repo), ANSWER], "edit")
    assert (job["state"], code) == ("done", 0), job
    assert (world.repo / "hello.txt").read_text() == "hello\n"
    assert (world.repo / "ran.txt").read_text() == "ran\n"
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (1, 1)
    assert reported(job) == tokens(3)
    assert not [name for name in tools(world) if "greet" in name]
    if lane == "cline":  # no daemon of its own stays
        listed = subprocess.run(("pgrep", "-af", "cline-hub-daemon"), check=False, capture_output=True, text=True)
        assert str(world.repo) not in listed.stdout
        assert not (world.root / "home" / ".cline" / "data" / "logs" / "hub-daemon.log").exists()


@BOTH
def test_a_write_and_a_command_under_run_are_refused_and_seen(run: Run, lane: str) -> None:
    job, code, world = run(lambda repo: [*write_and_shell(repo), BLOCKED], **COMPARE)
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
    path = os.pathsep.join([str(bwrap_folder()), str(folder() / "bin"), "/usr/local/bin", "/usr/bin", "/bin"])
    job, code, world = run(lambda repo: [loose_write(lane, repo), ANSWER], PATH=path)
    assert (job["state"], code) == ("done", 0), job
    assert not (world.repo / "loose.txt").exists()
    assert "1 tool use refused" in job["note"]
    assert reported(job) == tokens(2)


@BOTH
def test_a_refused_key(run_alone: Run, lane: str) -> None:
    job, code, world = run_alone([REFUSED_KEY], OSRC_POLL="0.5")
    assert (job["state"], job["outcome"], code) == ("failed", "auth", 1), job
    assert len(world.server.main_requests) <= 2


@BOTH
def test_one_refusal_for_now_and_a_dropped_connection_are_got_over(run: Run, lane: str) -> None:
    job, code, world = run([TOO_MANY, CUT, ANSWER])
    assert (job["state"], code) == ("done", 0), job
    # Whether the half that came before the cut is in it depends on what the CLI had read by then (Cline keeps that).
    assert ANSWER["text"] in world.result(job)
    assert len(world.server.main_requests) == 3


@BOTH
def test_a_stream_that_stalls_in_the_middle(run: Run, lane: str) -> None:
    job, code, _world = run([STALL], **SHORT_WINDOWS)
    assert (job["state"], job["exit"], code) == ("wedged", 125, 125), job


@BOTH
def test_a_long_prompt_arrives_whole_from_inside_another_session_without_a_daemon(
    run: Run, lane: str, tmp_path: Path
) -> None:
    task = long_task(tmp_path)
    job, code, world = run([ANSWER], "run", "--no-daemon", "--task-file", str(task), **NESTED)
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


@BOTH
def test_the_users_own_tool_servers_come_when_they_are_wanted(run: Run, lane: str) -> None:
    job, _code, world = run([ANSWER], "edit", **{f"OSRC_{lane.upper()}_USER_MCP": "1"})
    assert job["state"] == "done"
    assert [name for name in tools(world) if "greet" in name], tools(world)
