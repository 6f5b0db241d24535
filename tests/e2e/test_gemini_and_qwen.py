"""The real Gemini CLI and Qwen Code through ``osrc``, against a scripted model: the right verdict for each case.

Seen on Gemini CLI 0.61.0 and Qwen Code 0.24.4.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from fakes.files import holding
from fakes.google_clis import GEMINI_MODEL, QWEN_MODEL, sign_in, why_absent
from fakes.model_dialects import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS
from fakes.real_clis import NESTED, World, command_of, pids

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

MODELS = {"gemini": GEMINI_MODEL, "qwen": QWEN_MODEL}
BOTH = pytest.mark.parametrize("lane", ["gemini", "qwen"])
GEMINI = pytest.mark.parametrize("lane", ["gemini"])
QWEN = pytest.mark.parametrize("lane", ["qwen"])

ANSWER = {"text": "The answer is forty-two, of course.", "mark": "DONE"}
SHORT_WINDOWS = {"OSRC_POLL": "0.5", "OSRC_STALL_WARN": "2", "OSRC_STALL_KILL": "6", "OSRC_NOINIT_SECS": "30"}

Run = Callable[..., tuple[dict[str, Any], int, World]]


@pytest.fixture
def run(make_world: Callable[[list[dict[str, Any]]], World], lane: str) -> Run:
    """Run one job on ``lane`` in a world that plays ``steps``, a function of the repository's path or a list."""
    reason = why_absent(lane)
    if reason is not None:
        pytest.skip(reason)
    world = make_world([])
    environ = sign_in(world, lane)

    def go(steps: Any, verb: str = "run", *words: str, **more: str) -> tuple[dict[str, Any], int, World]:
        world.server.steps = steps(world.repo) if callable(steps) else steps
        words = words or ("Do what the script says.",)
        job, done = world.job(verb, "--lane", lane, "-m", MODELS[lane], *words, **environ, **more)
        assert job["lane"] == lane
        return job, done.returncode, world

    return go


def tokens(requests: int) -> dict[str, int]:
    """What a job must report after that many good answers: both CLIs count cached tokens as input, we don't."""
    counts = {"input": INPUT_TOKENS - CACHED_TOKENS, "cached_input": CACHED_TOKENS, "output": OUTPUT_TOKENS}
    return {name: count * requests for name, count in counts.items()}


def reported(job: dict[str, Any]) -> dict[str, int]:
    return {name: count for name, count in job["cost"]["tokens"].items() if count}


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
    job, code, world = run(
        lambda repo: [
            {"text": "I will write a file.", "calls": [{"write": f"{repo}/hello.txt", "content": "hello\n"}]},
            {"calls": [{"shell": "echo ran > ran.txt"}]},
            ANSWER,
        ],
        "edit",
    )
    assert (job["state"], code) == ("done", 0), job
    assert (world.repo / "hello.txt").read_text() == "hello\n"
    assert (world.repo / "ran.txt").read_text() == "ran\n"
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (1, 1)
    assert reported(job) == tokens(len([request for request in world.server.requests if request.dialect]))
    assert len(world.server.main_requests) == 3


@BOTH
def test_an_edit_and_a_command_under_run_are_refused_and_seen(run: Run, lane: str) -> None:
    job, code, world = run(
        lambda repo: [
            {"text": "I will write.", "calls": [{"write": f"{repo}/no.txt", "content": "no\n"}]},
            {"calls": [{"shell": "echo no > no.txt"}]},
            {"text": "I was not allowed to write.", "mark": "BLOCKED"},
        ]
    )
    assert (job["state"], job["exit"], code) == ("blocked", 3, 3), job
    assert not (world.repo / "no.txt").exists()
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
def test_a_refused_key(run: Run, lane: str) -> None:
    job, code, world = run([{"error": 401, "repeat": 0}])
    assert (job["state"], job["outcome"], code) == ("failed", "auth", 1), job
    assert len(world.server.main_requests) == 1


@BOTH
def test_one_refused_request_is_only_slow(run: Run, lane: str) -> None:
    job, code, world = run([{"error": 429}, ANSWER])
    assert (job["state"], code) == ("done", 0), job
    assert len(world.server.main_requests) == 2


@GEMINI
def test_a_spent_quota_of_the_day(run: Run, lane: str) -> None:
    job, code, world = run([{"error": 429, "kind": "quota", "repeat": 0}])
    assert (job["state"], job["outcome"], code) == ("failed", "plan-limit", 1), job
    assert "daily quota" in job["reason"]
    assert len(world.server.main_requests) == 1


@QWEN
def test_a_spent_plan_with_its_reset_time(run: Run, lane: str) -> None:
    words = "hour allocated quota exceeded, it will reset at 2099-01-02 03:04:05 UTC"
    job, code, world = run([{"error": 429, "message": words, "repeat": 0}])
    assert (job["state"], job["outcome"], code) == ("failed", "plan-limit", 1), job
    assert "03:04" in job["reason"]
    assert len(world.server.main_requests) < 6


@BOTH
def test_a_stream_that_stalls_in_the_middle(run: Run, lane: str) -> None:
    job, code, _world = run([{"text": "one two three four five six", "stall": 120, "repeat": 0}], **SHORT_WINDOWS)
    assert (job["state"], job["exit"], code) == ("wedged", 125, 125), job


@GEMINI
def test_a_dropped_connection_recovers(run: Run, lane: str) -> None:
    job, code, world = run([{"text": "one two three four", "drop": True}, ANSWER])
    assert (job["state"], code) == ("done", 0), job
    assert len(world.server.main_requests) == 2


@QWEN
def test_a_dropped_connection_is_a_failure_of_transport(run: Run, lane: str) -> None:
    job, code, _world = run([{"text": "one two three four", "drop": True}, ANSWER])
    assert (job["state"], job["outcome"], code) == ("failed", "transport", 1), job  # 0.24.4 does not try again


@BOTH
def test_a_long_prompt_arrives_whole(run: Run, lane: str, tmp_path: Any) -> None:
    task = tmp_path / "task.md"
    task.write_text(
        "".join(f"- Dies ist Zeile {number} mit Umlauten: äöü, und \u2014 Strichen.\n" for number in range(4000))
    )
    job, code, world = run([ANSWER], "run", "--task-file", str(task), **NESTED)
    assert (job["state"], code) == ("done", 0), job
    assert task.read_text().strip() in world.server.main_requests[0].text


@BOTH
def test_neither_key_nor_prompt_shows_in_a_process_list_and_no_key_on_disk(
    make_world: Callable[[list[dict[str, Any]]], World], lane: str
) -> None:
    reason = why_absent(lane)
    if reason is not None:
        pytest.skip(reason)
    world = make_world([{"text": "one two three four", "stall": 60}])
    environ = {name: "s3cr3t-key" if name.endswith("_KEY") else value for name, value in sign_in(world, lane).items()}
    world.environ.update(environ)
    started = world.osrc("bg", "--lane", lane, "-m", MODELS[lane], "An unmistakable task.")
    assert started.returncode == 0, started.stderr
    end = time.monotonic() + 60
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
