"""Tries are weighed by what can be taken: their branch, never what merely lies in their work tree."""

from __future__ import annotations

import pytest
from fakes.repos import repository, run_git
from fakes.state import job_id
from outsourcerer.actors.best_of import begin_check, plan_tries, weigh
from outsourcerer.actors.crew_run import Candidate
from outsourcerer.actors.worktrees import Planned, make_worktree, plan_worktree
from outsourcerer.cli import exit_codes, loops

ELSEWHERE = ("checkout", "-q", "-b", "side"), ("add", "."), ("commit", "-q", "-m", "there")


@pytest.mark.parametrize(
    ("check", "words"), [("true", "passes already, before anything was done"), ("no-such-program", "would say nothing")]
)
def test_a_check_that_tells_nothing_blocks_the_tries_as_it_does_a_loop(tmp_path, check, words):
    terms = {"check": check, "judge": None, "may_change_check": False, "allow_green": False, "check_timeout_s": 60}
    folder = str(tmp_path / "fanout-x")
    record = plan_tries(
        folder, str(repository(tmp_path / "repo")), {**terms, "rubric": "", "task": "x", "judged": False}
    )
    assert isinstance(record, dict)
    refused = begin_check(folder, record, {"PATH": "/usr/bin:/bin"})
    assert refused is not None
    assert words in refused.message
    assert exit_codes.of_refusal(refused.code.value) == loops.exit_code({"state": "blocked"}) == exit_codes.BLOCKED


@pytest.mark.parametrize(
    ("more", "verdict"),
    [((), "passed"), (ELSEWHERE, "failed"), (ELSEWHERE[:1], "failed"), ((("checkout", "-q", "--detach"),), "failed")],
)
def test_what_is_not_on_the_branch_is_not_graded(tmp_path, more, verdict):
    planned = plan_worktree(str(repository(tmp_path / "repo")), job_id(1), "HEAD")
    assert isinstance(planned, Planned)
    make_worktree(planned.tree, 60)
    place = tmp_path / "repo" / ".outsourcerer" / "worktrees" / job_id(1)
    (place / "a.txt").write_text("on its branch\n")
    run_git(place, "commit", "-q", "-a", "-m", "part of it")
    (place / "done").touch()
    for words in more:
        run_git(place, *words)
    terms = {"base": planned.tree.base, "inner": ".", "check": "test -e done", "check_timeout_s": 60}
    one = Candidate(job_id(1), "try-1", "done", planned.tree.path, planned.tree.branch, "do it")
    (found,) = weigh(str(tmp_path / "group"), terms, [one], {}, lambda _said: None)
    assert found.verdict == verdict
    assert verdict == "passed" or "is not on outsourcerer/" in (found.why or "")
