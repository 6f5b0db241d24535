"""The real Gemini CLI and Qwen Code through ``osrc``, against a scripted model: the right verdict for each case.

Seen on Gemini CLI 0.61.0 and Qwen Code 0.24.4.
"""

from __future__ import annotations

import time
from collections.abc import Callable
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
from fakes.real_clis import NESTED, World, command_of, pids
from fakes.signed_in import MODELS, sign_in

pytestmark = pytest.mark.e2e

BOTH = pytest.mark.parametrize("lane", ["gemini", "qwen"])
GEMINI = pytest.mark.parametrize("lane", ["gemini"])
QWEN = pytest.mark.parametrize("lane", ["qwen"])

Run = Callable[..., tuple[dict[str, Any], int, World]]


@BOTH
def test_a_plain_answer(run: Run, lane: str) -> None:
    job, code, world = run([ANSWER])
    assert (job["state"], job["exit"], code) == ("done", 0, 0), job
    assert ANSWER["text"] in world.result(job)
    assert job["model_observed"] == MODELS[lane]
    assert {request.body["model"] for request in world.server.main_requests} == {MODELS[lane]}
    # Qwen Code asks once more for what is worth remembering, and counts it.
    assert reported(job) == tokens(len([request for request in world.server.requests if request.dialect]))
    assert (job["cost"]["kind"], job["cost"]["measured"]) == ("metered", False)
    assert len(world.server.main_requests) == 1


@BOTH
def test_a_file_edit_and_a_command(run: Run, lane: str) -> None:
    job, code, world = run(lambda repo: [*write_and_shell(repo), ANSWER], "edit")
    assert (job["state"], code) == ("done", 0), job
    assert (world.repo / "hello.txt").read_text() == "hello\n"
    assert (world.repo / "ran.txt").read_text() == "ran\n"
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (1, 1)
    assert reported(job) == tokens(len([request for request in world.server.requests if request.dialect]))
    assert len(world.server.main_requests) == 3


@BOTH
def test_an_edit_and_a_command_under_run_are_refused_and_seen(run: Run, lane: str) -> None:
    job, code, world = run(lambda repo: [*write_and_shell(repo), BLOCKED])
    assert (job["state"], job["exit"], code) == ("blocked", 3, 3), job
    assert [path.name for path in world.repo.iterdir()] == [".git"]
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (0, 0)
    assert "2 tool uses refused (write_file, run_shell_command)" in job["note"]


@GEMINI
def test_leaving_plan_mode_opens_nothing(run: Run, lane: str) -> None:
    def steps(repo: Any) -> list[dict[str, Any]]:
        plan = {"file_path": "p.md", "content": "A plan."}
        leave = {"plan_path": "p.md", "plan_filename": "p.md"}
        return [
            {"calls": [{"raw": "write_file", "args": plan}]},
            {"calls": [{"raw": "exit_plan_mode", "args": leave}]},
            {"calls": [{"write": f"{repo}/no.txt", "content": "no\n"}]},
            {"calls": [{"shell": "echo no > no.txt"}]},
            {"calls": [{"raw": "invoke_agent", "args": {"agent_name": "generalist", "prompt": "Write no.txt."}}]},
            ANSWER,
        ]

    job, _code, world = run(steps)
    assert [path.name for path in world.repo.iterdir()] == [".git"]
    assert job["progress"]["writes"] == 0
    assert "refused" in job["note"]


@QWEN
def test_plan_mode_makes_no_worktree(run: Run, lane: str) -> None:
    job, _code, world = run([{"calls": [{"raw": "enter_worktree", "args": {"name": "x"}}]}, ANSWER])
    assert not (world.repo / ".qwen").exists()
    assert "refused (enter_worktree)" in job["note"]


@BOTH
def test_a_refused_key(run_alone: Run, lane: str) -> None:
    job, code, world = run_alone([REFUSED_KEY])
    assert (job["state"], job["outcome"], code) == ("failed", "auth", 1), job
    assert len(world.server.main_requests) == 1


@GEMINI
def test_one_refusal_for_now_and_a_dropped_connection_are_got_over(run: Run, lane: str) -> None:
    job, code, world = run([TOO_MANY, CUT, ANSWER])
    assert (job["state"], code) == ("done", 0), job
    assert len(world.server.main_requests) == 3


@QWEN
def test_one_refused_request_is_only_slow(run: Run, lane: str) -> None:
    job, code, world = run([TOO_MANY, ANSWER])
    assert (job["state"], code) == ("done", 0), job
    assert len(world.server.main_requests) == 2


@QWEN
def test_a_dropped_connection_is_a_failure_of_transport(run_alone: Run, lane: str) -> None:
    job, code, _world = run_alone([CUT, ANSWER])
    assert (job["state"], job["outcome"], code) == ("failed", "transport", 1), job  # 0.24.4 does not try again


@GEMINI
def test_a_spent_quota_of_the_day(run_alone: Run, lane: str) -> None:
    job, code, world = run_alone([{"error": 429, "kind": "quota", "repeat": 0}])
    assert (job["state"], job["outcome"], code) == ("failed", "plan-limit", 1), job
    assert "daily quota" in job["reason"]
    assert len(world.server.main_requests) == 1


@QWEN
def test_a_spent_plan_with_its_reset_time(run_alone: Run, lane: str) -> None:
    words = "hour allocated quota exceeded, it will reset at 2099-01-02 03:04:05 UTC"
    job, code, world = run_alone([{"error": 429, "message": words, "repeat": 0}])
    assert (job["state"], job["outcome"], code) == ("failed", "plan-limit", 1), job
    assert "03:04" in job["reason"]
    assert len(world.server.main_requests) < 6


@BOTH
def test_a_stream_that_stalls_in_the_middle(run: Run, lane: str) -> None:
    job, code, _world = run([STALL], **SHORT_WINDOWS)
    assert (job["state"], job["exit"], code) == ("wedged", 125, 125), job


@BOTH
def test_a_long_prompt_arrives_whole(run: Run, lane: str, tmp_path: Any) -> None:
    task = long_task(tmp_path)
    job, code, world = run([ANSWER], "run", "--task-file", str(task), **NESTED)
    assert (job["state"], code) == ("done", 0), job
    assert task.read_text().strip() in world.server.main_requests[0].text


@BOTH
def test_neither_key_nor_prompt_shows_in_a_process_list_and_no_key_on_disk(
    make_world: Callable[[list[dict[str, Any]]], World], lane: str
) -> None:
    world = make_world([{"text": "one two three four", "stall": 600}])
    environ = {name: "s3cr3t-key" if name.endswith("_KEY") else value for name, value in sign_in(world, lane).items()}
    world.environ.update(environ)
    started = world.osrc("bg", "--lane", lane, "-m", MODELS[lane], "An unmistakable task.")
    assert started.returncode == 0, started.stderr
    end = time.monotonic() + 180
    while not world.server.main_requests:
        assert time.monotonic() < end, "the CLI never asked the model"
        time.sleep(0.05)
    lines = [line for pid in pids() if (line := command_of(pid, str(world.root))) is not None]
    assert any(lane in line for line in lines)
    assert not [line for line in lines if "s3cr3t-key" in line or "unmistakable" in line]
    assert holding(world.osrc_home, "s3cr3t-key") == []


@GEMINI
def test_a_family_word_is_resolved_by_the_cli(run: Run, lane: str) -> None:
    job, code, world = run([ANSWER], "run", "-m", "gemini-flash-lite", "Do what the script says.")
    assert (job["state"], code) == ("done", 0), job
    asked = {request.body["model"] for request in world.server.main_requests}
    assert len(asked) == 1
    assert all(name.startswith("gemini-") and name.endswith("flash-lite") for name in asked)
    assert {job["model_observed"]} == asked
