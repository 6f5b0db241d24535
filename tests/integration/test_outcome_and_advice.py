"""A job's result is told of, journalled and learned from; a supervisor that runs gives advice from warm tables."""

from __future__ import annotations

import json

from fakes.supervised import Supervised


def said(home: Supervised, *words: str) -> dict[str, object]:
    done = home.osrc(*words, "--json")
    assert done.returncode == 0, done
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    return value


def test_what_became_of_a_job_is_kept_and_advice_answers(home: Supervised) -> None:
    home.run({"end": "hello"}, words=("--label", "first", "-m", "glm-5-3"))
    kept = said(home, "outcome", "first", "passed")
    assert (kept["outcome"], kept["model"]) == ("passed", "glm-5-3")
    assert kept["task_kind"]
    assert kept["project"] == str(home.work.resolve())
    said(home, "outcome", "first", "reverted")
    done = home.osrc("events", "--type", "job.outcome", "--json")
    facts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(fact["outcome"], fact["source"]) for fact in facts] == [("passed", "person"), ("reverted", "person")]
    assert said(home, "advise", "prove that the root of 2 is irrational")["category"] == "reasoning"
    assert said(home, "status", "first")["state"] == "done?", "an outcome changes no verdict"


def test_a_job_that_still_runs_has_no_outcome(home: Supervised) -> None:
    job_id = home.bg({"sleep": 600})
    home.running(job_id)
    done = home.osrc("outcome", job_id, "passed")
    assert done.returncode == 1
    assert b"has no result yet" in done.stderr
