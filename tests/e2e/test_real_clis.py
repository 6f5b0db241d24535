"""The real claude and codex through ``osrc``, against a scripted model: the right verdict for each case.

Seen on Claude Code 2.1.332 and Codex 0.171.0.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fakes import cli_jobs
from fakes.cli_jobs import (
    ANSWER,
    BLOCKED,
    CUT,
    REFUSED_KEY,
    SHORT_WINDOWS,
    STALL,
    long_task,
    reported,
    write_and_shell,
)
from fakes.real_clis import NESTED, World
from fakes.signed_in import MODELS
from outsourcerer.state.store import Reader

pytestmark = pytest.mark.e2e

BOTH = pytest.mark.parametrize("lane", ["claude", "codex"])
CLAUDE = pytest.mark.parametrize("lane", ["claude"])
ON_PLAN = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "test", "TZ": "UTC"}

Run = Callable[..., tuple[dict[str, Any], int, World]]


def tokens(lane: str, requests: int) -> dict[str, int]:
    """What a job must report after that many good answers. Codex counts cached tokens as input, we don't."""
    return cli_jobs.tokens(requests, cached_apart=lane == "codex")


@BOTH
def test_a_plain_answer(run: Run, lane: str) -> None:
    job, code, world = run([ANSWER])
    assert (job["state"], job["exit"], code) == ("done", 0, 0)
    assert ANSWER["text"] in world.result(job)
    assert job["model"] == MODELS[lane]
    assert {request.body["model"] for request in world.server.main_requests} == {MODELS[lane]}
    if lane == "claude":  # codex does not say in its stream which model answers
        assert job["model_observed"] == MODELS[lane]
        assert f"[verified] {MODELS[lane]} ran" in job["note"]
        assert (job["cost"]["kind"], job["cost"]["measured"]) == ("metered", False)  # a key, and no receipt
    assert reported(job) == tokens(lane, 1)
    assert len(world.server.main_requests) == 1


@BOTH
def test_an_answer_without_the_signed_line_is_not_called_done(run: Run, lane: str) -> None:
    job, code, _world = run([{"text": "I am done, trust me.\nOSRC::DONE #0000000000000000 really"}])
    assert (job["state"], job["exit"], code) == ("done?", 2, 2)


@BOTH
def test_a_file_edit_and_a_command(run: Run, lane: str) -> None:
    job, code, world = run(lambda repo: [*write_and_shell(repo), ANSWER], "edit")
    assert (job["state"], code) == ("done", 0)
    assert (world.repo / "hello.txt").read_text() == "hello\n"
    assert (world.repo / "ran.txt").read_text() == "ran\n"
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (1, 1)
    assert reported(job) == tokens(lane, 3)


@BOTH
def test_an_edit_under_run_is_refused_and_seen(run: Run, lane: str) -> None:
    job, code, world = run(lambda repo: [write_and_shell(repo)[0], BLOCKED])
    assert (job["state"], job["exit"], code) == ("blocked", 3, 3)
    assert not (world.repo / "hello.txt").exists()
    assert job["progress"]["writes"] == 0
    assert "refused" in (job["note"] or "")


@BOTH
def test_a_refused_key(run_alone: Run, lane: str) -> None:
    job, code, world = run_alone([REFUSED_KEY], OSRC_POLL="0.5")
    assert (job["state"], job["exit"], code) == ("failed", 1, 1)
    assert job["outcome"] == "auth"
    # Claude Code would try ten times over three minutes: a refused key is final, and is treated so.
    assert len(world.server.main_requests) <= 6


@BOTH
def test_a_plan_limit_with_its_reset_time(run_alone: Run, lane: str) -> None:
    resets_at = (int(time.time()) // 3600 + 1) * 3600 + 37 * 60  # never a full hour: claude says "11am" then
    # A plan's limits exist only for a signed-in plan, not for a key.
    job, code, _world = run_alone([{"error": 429, "kind": "plan", "resets_at": resets_at, "repeat": 0}], **ON_PLAN)
    assert (job["state"], job["outcome"], code) == ("failed", "plan-limit", 1)
    when = datetime.fromtimestamp(resets_at, UTC)
    assert f"the limit ends at {when:%Y-%m-%d %H:%M} UTC" in job["note"]


@BOTH
def test_a_stream_that_stalls_in_the_middle(run: Run, lane: str) -> None:
    job, code, _world = run([STALL], **SHORT_WINDOWS)
    assert (job["state"], job["exit"], code) == ("wedged", 125, 125)


@BOTH
def test_a_dropped_connection_recovers_and_a_short_stall_is_only_slow(run: Run, lane: str) -> None:
    job, code, world = run([CUT, ANSWER | {"stall": 3}], **(SHORT_WINDOWS | {"OSRC_STALL_KILL": "60"}))
    assert (job["state"], code) == ("done", 0)
    assert ANSWER["text"] in world.result(job)
    assert len(world.server.main_requests) == 2


@CLAUDE
def test_a_connection_that_stays_cut_is_a_lost_connection(run_alone: Run, lane: str) -> None:
    """By itself Claude Code 2.1.332 tries for three minutes; here the watchdog ends it, and what is said is no limit."""
    job, code, world = run_alone([CUT | {"repeat": 0}], **SHORT_WINDOWS)
    assert (job["state"], job["outcome"], code) == ("failed", "transport", 1)
    assert "could not be reached, though it tried again" in job["reason"]
    assert len(world.server.main_requests) > 1
    with Reader(world.osrc_home / "state.db") as reader:
        bodies = [json.loads(row[3]) for row in reader.entries(0, 1000, job=job["job_id"], type="job.state_changed")]
    assert "waiting-limit" not in {body["state"] for body in bodies}
    assert "the model's service could not be reached; its CLI tries again" in {body["reason"] for body in bodies}


@BOTH
def test_a_long_prompt_arrives_whole_from_inside_another_session_without_a_daemon(
    run: Run, lane: str, tmp_path: Path
) -> None:
    task = long_task(tmp_path)
    job, code, world = run([ANSWER], "run", "--no-daemon", "--task-file", str(task), **NESTED)
    assert (job["state"], code) == ("done", 0)
    assert ANSWER["text"] in world.result(job)
    assert task.read_text().strip() in world.server.main_requests[0].text


@CLAUDE
def test_run_starts_no_hook_of_the_folder_and_a_signed_in_plan_pays(run: Run, lane: str, tmp_path: Path) -> None:
    """A folder's own hooks are commands; with ``-p`` Claude Code 2.1.332 starts them unasked."""
    hooked = tmp_path / "hooked"

    def steps(repo: Path) -> list[dict[str, Any]]:
        hook = {"hooks": [{"type": "command", "command": f"touch '{hooked}'"}]}
        (repo / ".claude").mkdir()
        (repo / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"SessionStart": [hook]}}))
        (repo / "CLAUDE.md").write_text("Our word of the day is rhubarb.")
        return [ANSWER]

    job, _code, world = run(steps, **ON_PLAN)
    assert job["state"] == "done"
    assert not hooked.exists()
    assert "rhubarb" in json.dumps(world.server.main_requests[0].body), "the folder's notes must still be read"
    assert (job["cost"]["kind"], job["cost"]["measured"]) == ("plan", False)
