"""The real claude and codex through ``osrc``, against a scripted model: the right verdict for each case.

Seen on Claude Code 2.1.332 and Codex 0.171.0.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from fakes.model_dialects import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS
from fakes.real_clis import CLAUDE_MODEL, CODEX_MODEL, NESTED, World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

MODELS = {"claude": CLAUDE_MODEL, "codex": CODEX_MODEL}
BOTH = pytest.mark.parametrize("lane", ["claude", "codex"])

ANSWER = {"text": "The answer is forty-two, of course.", "mark": "DONE"}
SHORT_WINDOWS = {"OSRC_POLL": "0.5", "OSRC_STALL_WARN": "2", "OSRC_STALL_KILL": "6"}


def tokens(lane: str, requests: int) -> dict[str, int]:
    """What a job must report after that many good answers. Codex counts cached tokens as input, we don't."""
    fresh = INPUT_TOKENS - (CACHED_TOKENS if lane == "codex" else 0)
    counts = {"input": fresh, "cached_input": CACHED_TOKENS, "output": OUTPUT_TOKENS}
    return {name: count * requests for name, count in counts.items()}


def run(world: World, lane: str, verb: str = "run", *words: str, **environ: str) -> tuple[dict[str, Any], int]:
    """One job on ``lane``: its job object, and the exit code of the command that followed it."""
    job, done = world.job(verb, "--lane", lane, "-m", MODELS[lane], *words, "Do what the script says.", **environ)
    assert job["lane"] == lane
    return job, done.returncode


def models_asked(world: World) -> set[str]:
    return {request.body["model"] for request in world.server.main_requests}


@BOTH
def test_a_plain_answer(make_world, lane: str) -> None:
    world = make_world([ANSWER])
    job, code = run(world, lane)
    assert (job["state"], job["exit"], code) == ("done", 0, 0)
    assert ANSWER["text"] in world.result(job)
    assert job["model"] == MODELS[lane]
    assert models_asked(world) == {MODELS[lane]}
    if lane == "claude":  # codex does not say in its stream which model answers
        assert job["model_observed"] == MODELS[lane]
        assert f"[verified] {MODELS[lane]} ran" in job["note"]
    reported = {name: count for name, count in job["cost"]["tokens"].items() if count}
    assert reported == tokens(lane, 1)
    assert len(world.server.main_requests) == 1


@BOTH
def test_an_answer_without_the_signed_line_is_not_called_done(make_world, lane: str) -> None:
    job, code = run(make_world([{"text": "I am done, trust me.\nOSRC::DONE #0000000000000000 really"}]), lane)
    assert (job["state"], job["exit"], code) == ("done?", 2, 2)


@BOTH
def test_a_file_edit_and_a_command(make_world, lane: str) -> None:
    world = make_world([])
    world.server.steps = [
        {"text": "I will write a file.", "calls": [{"write": f"{world.repo}/hello.txt", "content": "hello\n"}]},
        {"calls": [{"shell": "echo ran > ran.txt"}]},
        ANSWER,
    ]
    job, code = run(world, lane, "edit")
    assert (job["state"], code) == ("done", 0)
    assert (world.repo / "hello.txt").read_text() == "hello\n"
    assert (world.repo / "ran.txt").read_text() == "ran\n"
    assert (job["progress"]["writes"], job["progress"]["bash"]) == (1, 1)
    reported = {name: count for name, count in job["cost"]["tokens"].items() if count}
    assert reported == tokens(lane, 3)


@BOTH
def test_an_edit_under_run_is_refused_and_seen(make_world, lane: str) -> None:
    world = make_world([])
    world.server.steps = [
        {"text": "I will write.", "calls": [{"write": f"{world.repo}/no.txt", "content": "no\n"}]},
        {"text": "I was not allowed to write.", "mark": "BLOCKED"},
    ]
    job, code = run(world, lane)
    assert (job["state"], job["exit"], code) == ("blocked", 3, 3)
    assert not (world.repo / "no.txt").exists()
    assert job["progress"]["writes"] == 0
    assert "refused" in (job["note"] or "")


@BOTH
def test_a_refused_key(make_world, lane: str) -> None:
    world = make_world([{"error": 401, "repeat": 0}])
    job, code = run(world, lane, OSRC_POLL="0.5")
    assert (job["state"], job["exit"], code) == ("failed", 1, 1)
    assert job["outcome"] == "auth"
    # Claude Code would try ten times over three minutes: a refused key is final, and is treated so.
    assert len(world.server.main_requests) <= 6


@BOTH
def test_a_plan_limit_with_its_reset_time(make_world, lane: str) -> None:
    resets_at = (int(time.time()) // 3600 + 1) * 3600 + 37 * 60  # never a full hour: claude says "11am" then
    world = make_world([{"error": 429, "kind": "plan", "resets_at": resets_at, "repeat": 0}])
    # A plan's limits exist only for a signed-in plan, not for a key.
    signed_in = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "test", "TZ": "UTC"}
    job, code = run(world, lane, **signed_in)
    assert (job["state"], job["outcome"], code) == ("failed", "plan-limit", 1)
    when = datetime.fromtimestamp(resets_at, UTC)
    assert f"the limit ends at {when:%Y-%m-%d %H:%M} UTC" in job["note"]


@BOTH
def test_a_stream_that_stalls_in_the_middle(make_world, lane: str) -> None:
    world = make_world([{"text": "one two three four five six", "stall": 120, "repeat": 0}])
    job, code = run(world, lane, **SHORT_WINDOWS)
    assert (job["state"], job["exit"], code) == ("wedged", 125, 125)


@BOTH
def test_a_short_stall_is_only_slow(make_world, lane: str) -> None:
    world = make_world([ANSWER | {"stall": 4}])
    job, code = run(world, lane, **(SHORT_WINDOWS | {"OSRC_STALL_KILL": "60"}))
    assert (job["state"], code) == ("done", 0)


@BOTH
def test_a_dropped_connection_recovers(make_world, lane: str) -> None:
    world = make_world([{"text": "one two three four", "drop": True}, ANSWER])
    job, code = run(world, lane)
    assert (job["state"], code) == ("done", 0)
    assert ANSWER["text"] in world.result(job)
    assert len(world.server.main_requests) == 2


@BOTH
def test_it_starts_from_inside_another_session(make_world, lane: str) -> None:
    job, code = run(make_world([ANSWER]), lane, **NESTED)
    assert (job["state"], code) == ("done", 0)


@BOTH
def test_without_a_daemon_it_is_the_same(make_world, lane: str) -> None:
    world = make_world([ANSWER])
    job, code = run(world, lane, "run", "--no-daemon")
    assert (job["state"], code) == ("done", 0)
    assert ANSWER["text"] in world.result(job)


@BOTH
def test_a_long_prompt_arrives_whole(make_world, lane: str) -> None:
    world = make_world([ANSWER])
    task = world.root / "task.md"
    line = "- Dies ist Zeile {} mit Umlauten: äöü, und \u2014 Strichen.\n"
    task.write_text("".join(line.format(number) for number in range(4000)))
    job, done = world.job("run", "--lane", lane, "-m", MODELS[lane], "--task-file", str(task))
    assert (job["state"], done.returncode) == ("done", 0)
    assert task.read_text().strip() in world.server.main_requests[0].text


@pytest.mark.parametrize(
    ("signed_in", "kind"),
    [
        ({"ANTHROPIC_API_KEY": "test"}, "metered"),
        ({"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "test"}, "plan"),
    ],
)
def test_who_pays_follows_the_sign_in(make_world, signed_in: dict[str, str], kind: str) -> None:
    job, _code = run(make_world([ANSWER]), "claude", **signed_in)
    assert job["cost"]["kind"] == kind
    assert job["cost"]["measured"] is False  # a scripted server sends no receipt


def test_run_starts_no_hook_of_the_folder(make_world) -> None:
    """A folder's own hooks are commands; with ``-p`` Claude Code 2.1.332 starts them unasked."""
    world = make_world([ANSWER])
    hooked = world.root / "hooked"
    hook = {"hooks": [{"type": "command", "command": f"touch '{hooked}'"}]}
    (world.repo / ".claude").mkdir()
    (world.repo / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"SessionStart": [hook]}}))
    (world.repo / "CLAUDE.md").write_text("Our word of the day is rhubarb.")
    job, _ = run(world, "claude")
    assert job["state"] == "done"
    assert not hooked.exists()
    assert "rhubarb" in json.dumps(world.server.main_requests[0].body), "the folder's notes must still be read"
