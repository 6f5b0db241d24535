"""The real Droid, Copilot CLI and pi through ``osrc``, against a scripted model: the right verdict for each case.

Seen on Droid 0.215.0, GitHub Copilot CLI 1.0.102 and pi 0.73.1.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.byok_clis import MODELS, sign_in, why_absent
from fakes.files import holding
from fakes.model_dialects import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS
from fakes.real_clis import NESTED, World, command_of, pids

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

ALL = pytest.mark.parametrize("lane", ["droid", "copilot", "pi"])
COPILOT = pytest.mark.parametrize("lane", ["copilot"])
DROID = pytest.mark.parametrize("lane", ["droid"])
PI = pytest.mark.parametrize("lane", ["pi"])

ANSWER = {"text": "The answer is forty-two, of course.", "mark": "DONE"}
SHORT_WINDOWS = {"OSRC_POLL": "0.5", "OSRC_STALL_WARN": "2", "OSRC_STALL_KILL": "6", "OSRC_NOINIT_SECS": "12"}

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
    blocked = {"text": "I was not allowed to write.", "mark": "BLOCKED"}
    everything = {"COPILOT_ALLOW_ALL": "true", "FACTORY_EXEC_TARGET_AUTONOMY": "high"}
    job, code, world = run(lambda repo: [*write_and_shell(repo), blocked], **everything)
    assert (job["state"], job["exit"], code) == ("blocked", 3, 3), job
    assert sorted(path.name for path in world.repo.iterdir()) == [".git"]
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (0, 0)
    assert "2 tool uses refused" in job["note"]


@PI
def test_a_read_only_verb_runs_no_extension_of_the_repository(run: Run, lane: str, tmp_path: Path) -> None:
    extension = tmp_path / "w" / "a repo" / ".pi" / "extensions" / "mine.ts"
    extension.parent.mkdir(parents=True)
    ran = tmp_path / "ran"
    extension.write_text(f'import {{ writeFileSync }} from "fs";\nexport default () => writeFileSync("{ran}", "");\n')
    job, _code, _world = run([ANSWER, ANSWER])
    assert (job["state"], ran.exists()) == ("done", False)
    job, _code, _world = run([ANSWER], "edit")
    assert (job["state"], ran.exists()) == ("done", True)  # so it would have


@ALL
def test_a_refused_key(run: Run, lane: str) -> None:
    job, code, world = run([{"error": 401, "repeat": 0}], OSRC_POLL="0.5")
    assert (job["state"], job["outcome"], code) == ("failed", "auth", 1), job
    assert len(world.server.main_requests) <= 3


@ALL
def test_one_refusal_for_now_is_got_over(run: Run, lane: str) -> None:
    job, code, world = run([{"error": 429}, ANSWER])
    assert (job["state"], code) == ("done", 0), job
    assert len(world.server.main_requests) == 2


@ALL
def test_a_stream_that_stalls_in_the_middle(run: Run, lane: str) -> None:
    job, code, _world = run([{"text": "one two three four five six", "stall": 120, "repeat": 0}], **SHORT_WINDOWS)
    assert (job["state"], job["exit"], code) == ("wedged", 125, 125), job


@ALL
def test_a_dropped_connection_recovers(run: Run, lane: str) -> None:
    job, code, world = run([{"text": "one two three four", "drop": True}, ANSWER])
    assert (job["state"], code) == ("done", 0), job
    assert world.result(job).startswith(ANSWER["text"])
    assert len(world.server.main_requests) == 2


@ALL
def test_it_starts_from_inside_another_session_without_a_daemon(run: Run, lane: str) -> None:
    job, code, _world = run([ANSWER], "run", "--no-daemon", "Do what the script says.", **NESTED)
    assert (job["state"], code) == ("done", 0), job


@ALL
def test_a_long_prompt_arrives_whole(run: Run, lane: str, tmp_path: Path) -> None:
    task = tmp_path / "task.md"
    line = "- Dies ist Zeile {} mit Umlauten: äöü, und \u2014 Strichen.\n"
    task.write_text("".join(line.format(number) for number in range(4000)))
    job, code, world = run([ANSWER], "run", "--task-file", str(task))
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
    reason = why_absent(lane)
    if reason is not None:
        pytest.skip(reason)
    key = "sk-a-key-to-look-for"
    world = make_world([ANSWER | {"stall": 60}])
    environ = sign_in(world, lane) | {"COPILOT_PROVIDER_API_KEY": key}
    job = world.osrc("bg", "--lane", lane, "-m", MODELS[lane], "Do it.", **environ).stdout.strip()
    end = time.monotonic() + 60
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
