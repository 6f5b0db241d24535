"""``osrc continue`` with the real claude and codex: each job's own thread, by its id.

Seen on Claude Code 2.1.332 and Codex 0.171.0.
"""

from __future__ import annotations

import json

import pytest
from fakes.real_clis import CLAUDE_MODEL, CODEX_MODEL, World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

MODELS = {"claude": CLAUDE_MODEL, "codex": CODEX_MODEL}
BOTH = pytest.mark.parametrize("lane", ["claude", "codex"])


def said(world: World) -> str:
    """What the model was shown in the last request."""
    return json.dumps(world.server.main_requests[-1].body)


def ask(world: World, *words: str) -> dict:
    job, done = world.job(*words)
    assert (job["state"], done.returncode) == ("done", 0), done.stderr
    return job


@BOTH
def test_two_jobs_in_one_folder_each_resume_their_own_thread(make_world, lane: str) -> None:
    world = make_world([{"text": f"Noted {number}.", "mark": "DONE"} for number in range(4)])
    model = ("--lane", lane, "-m", MODELS[lane])
    first = ask(world, "run", *model, "--label", "one", "The word is walrus.")
    second = ask(world, "run", *model, "The word is pelican.")
    assert first["conversation"] != second["conversation"]

    again = ask(world, "continue", "one", "Which word was it?")
    assert (again["conversation"], again["lane"], again["verb"]) == (first["conversation"], lane, "run")
    assert again["job_id"] != first["job_id"]
    assert "walrus" in said(world)
    assert "pelican" not in said(world)
    assert "Which word was it?" in said(world)

    other = ask(world, "continue", second["job_id"], "And this one?")
    assert other["conversation"] == second["conversation"]
    assert "pelican" in said(world)
    assert "walrus" not in said(world)
