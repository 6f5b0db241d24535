"""Tries are weighed by what can be taken: their branch, never what merely lies in their work tree."""

from __future__ import annotations

import pytest
from fakes.repos import repository, run_git
from fakes.state import job_id
from outsourcerer.actors.best_of import weigh
from outsourcerer.actors.crew_run import Candidate
from outsourcerer.actors.worktrees import Planned, make_worktree, plan_worktree

ELSEWHERE = ("checkout", "-q", "-b", "side"), ("add", "."), ("commit", "-q", "-m", "there")


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
