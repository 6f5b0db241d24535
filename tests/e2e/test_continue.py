"""``osrc continue`` with the real CLIs: each job's own thread, by its id.

Seen on Claude Code 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0, Qwen Code 0.24.4, OpenCode 1.18.33, GitHub Copilot
CLI 1.0.102 and pi 0.73.1.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.real_clis import World
from fakes.signed_in import MODELS, sign_in

pytestmark = pytest.mark.e2e

TWO_ROUNDS = pytest.mark.parametrize("lane", ["claude", "codex", "gemini", "qwen", "opencode", "copilot", "pi"])


BOTH_WAYS = ("claude", "codex")
"""Where the newer one is continued too. The older one alone shows that "the latest" is not what is continued."""


def said(world: World) -> str:
    """What the model was shown in the last request."""
    return json.dumps(world.server.main_requests[-1].body)


@TWO_ROUNDS
def test_of_two_jobs_in_one_folder_each_resumes_its_own_thread(make_world, lane: str) -> None:
    world = make_world([{"text": f"Noted {number}.", "mark": "DONE"} for number in range(4)])
    environ = sign_in(world, lane)

    def ask(*words: str) -> dict[str, Any]:
        job, done = world.job(*words, **environ)
        assert (job["state"], done.returncode) == ("done", 0), done.stderr
        return job

    model = ("--lane", lane, "-m", MODELS[lane])
    first = ask("run", *model, "--label", "one", "The word is walrus.")
    second = ask("run", *model, "The word is pelican.")
    assert first["conversation"] != second["conversation"]

    again = ask("continue", "one", "Which word was it?")
    assert (again["conversation"], again["lane"], again["verb"]) == (first["conversation"], lane, "run")
    assert again["job_id"] != first["job_id"]
    assert (first["continues"], again["continues"]) == (None, first["job_id"])
    assert "walrus" in said(world)
    assert "pelican" not in said(world)
    assert "Which word was it?" in said(world)

    if lane in BOTH_WAYS:
        other = ask("cont", second["job_id"], "And this one?")
        assert other["conversation"] == second["conversation"]
        assert "pelican" in said(world)
        assert "walrus" not in said(world)


@pytest.mark.parametrize("lane", ["cline", "droid"])
def test_a_cli_that_can_not_is_refused_with_its_reason(make_world, lane: str) -> None:
    world = make_world([{"text": "Noted.", "mark": "DONE"}])
    environ = sign_in(world, lane)
    job, _done = world.job("run", "--lane", lane, "-m", MODELS[lane], "The word is walrus.", **environ)
    asked = len(world.server.requests)
    done = world.osrc("continue", job["job_id"], "Which word was it?", **environ)
    assert done.returncode != 0
    assert f"{job['job_id']} can't be continued" in done.stderr or "can't continue a conversation" in done.stderr
    assert len(world.server.requests) == asked
