"""The real claude and codex on their lanes, without a supervisor: what ``test_real_clis`` stands on."""

from __future__ import annotations

import time

import pytest
from fakes.lane_driver import attempt
from fakes.real_clis import CLAUDE_MODEL, CODEX_MODEL
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.lane_events import FailureKind
from outsourcerer.messages.vocabulary import JobState, Verb

pytestmark = pytest.mark.e2e

BOTH = pytest.mark.parametrize(("name", "model"), [("claude", CLAUDE_MODEL), ("codex", CODEX_MODEL)])
ANSWER = {"text": "All of it is done.", "mark": "DONE"}


@BOTH
def test_an_answer_signed_done(make_world, name: str, model: str) -> None:
    world = make_world([ANSWER])
    seen, _failure, verdict = attempt(builtin(name), Verb.RUN, model, world.repo, world.environ)
    assert (verdict.state, verdict.reason) == (JobState.DONE, None)
    assert seen.conversation
    assert seen.unrecognised == 0
    assert seen.usage is not None
    assert seen.usage.output == 56


@BOTH
def test_a_file_and_a_command(make_world, name: str, model: str) -> None:
    world = make_world([])
    world.server.steps = [
        {"text": "First.", "calls": [{"write": f"{world.repo}/a.txt", "content": "a\n"}]},
        {"calls": [{"shell": "echo b > b.txt"}]},
        ANSWER,
    ]
    seen, _failure, verdict = attempt(builtin(name), Verb.EDIT, model, world.repo, world.environ)
    assert verdict.state is JobState.DONE
    assert sorted(path.name for path in world.repo.glob("*.txt")) == ["a.txt", "b.txt"]
    assert (seen.writes, seen.bash, seen.denials, seen.unrecognised) == (1, 1, 0, 0)


@BOTH
def test_a_refused_write_is_evidence(make_world, name: str, model: str) -> None:
    world = make_world([])
    world.server.steps = [{"calls": [{"write": f"{world.repo}/a.txt", "content": "a\n"}]}, ANSWER]
    seen, _failure, verdict = attempt(builtin(name), Verb.RUN, model, world.repo, world.environ)
    assert not (world.repo / "a.txt").exists()
    assert (seen.writes, seen.denials) == (0, 1)
    assert "refused" in (verdict.note or "")


@BOTH
def test_a_refused_key_is_final(make_world, name: str, model: str) -> None:
    world = make_world([{"error": 401, "repeat": 0}])
    _seen, failure, verdict = attempt(builtin(name), Verb.RUN, model, world.repo, world.environ)
    assert failure is FailureKind.AUTH
    assert verdict.state not in (JobState.DONE, JobState.DONE_UNVERIFIED)
    assert len(world.server.main_requests) <= 6


@BOTH
def test_a_plan_limit_says_until_when(make_world, name: str, model: str) -> None:
    resets_at = int(time.time()) // 60 * 60 + 3600
    world = make_world([{"error": 429, "kind": "plan", "resets_at": resets_at, "repeat": 0}])
    environ = world.environ | {"CLAUDE_CODE_OAUTH_TOKEN": "test", "TZ": "UTC"}
    del environ["ANTHROPIC_API_KEY"]
    seen, _failure, verdict = attempt(builtin(name), Verb.RUN, model, world.repo, environ)
    assert (verdict.state, verdict.outcome) == (JobState.FAILED, "plan-limit")
    assert seen.turn is not None
    if name == "claude":  # codex tells a wall-clock time only, which a parser without a clock can't place
        assert seen.turn.until == resets_at


@BOTH
def test_a_cut_connection_is_not_the_end(make_world, name: str, model: str) -> None:
    world = make_world([{"text": "one two three four", "drop": True}, ANSWER])
    seen, _failure, verdict = attempt(builtin(name), Verb.RUN, model, world.repo, world.environ)
    assert verdict.state is JobState.DONE
    assert seen.retries >= 1
