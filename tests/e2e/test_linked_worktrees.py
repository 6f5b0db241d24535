"""The real claude and codex in a git work tree of a job's own: what each leaves is a commit on the job's branch.

Seen on Claude Code 2.1.332, which commits itself, and Codex 0.171.0, whose sandbox keeps it from that.
"""

from __future__ import annotations

import pytest
from fakes.cli_jobs import ANSWER
from fakes.repos import repository, run_git
from fakes.signed_in import MODELS, sign_in

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("lane", ["claude", "codex"])
def test_its_work_is_a_commit_on_the_branch_and_the_checkout_is_untouched(make_world, lane: str) -> None:
    commit = (
        "echo hello > hello.txt; git add hello.txt && git commit --quiet -m 'By the delegate'; git log -1 --format=%s"
    )
    more = {"text": "More.", "calls": [{"shell": "echo more > more.txt"}]}
    world = make_world([{"text": "First.", "calls": [{"shell": commit}]}, ANSWER, more, ANSWER])
    repo = repository(world.repo, files={"a.txt": "one\n"})
    own = run_git(repo, "branch", "--show-current")
    environ = sign_in(world, lane)
    job, done = world.job("edit", "--worktree", "--lane", lane, "-m", MODELS[lane], "Write hello.txt.", **environ)
    assert (job["state"], done.returncode) == ("done", 0), done.stderr
    branch = f"outsourcerer/{job['job_id']}"
    assert (job["branch"], job["base"]) == (branch, run_git(repo, "rev-parse", "HEAD"))
    assert job["cwd"] == job["worktree"] == f"{repo}/.outsourcerer/worktrees/{job['job_id']}"
    talk = world.server.main_requests[-1].text
    assert run_git(repo, "rev-list", "--count", f"{job['base']}..{branch}") == "1", (job["note"], talk)
    assert run_git(repo, "show", f"{branch}:hello.txt") == "hello"
    subject = run_git(repo, "log", "-1", "--format=%s", branch)
    assert subject == "By the delegate" if lane == "claude" else subject.startswith(f"{job['job_id']}: ")
    assert run_git(repo, "log", "-1", "--format=%an", branch) == "outsourcerer-delegate"
    assert run_git(repo, "status", "--porcelain") == ""
    assert not (repo / "hello.txt").exists()

    again, done = world.job("continue", "Write more.", **environ)
    assert (again["state"], again["continues"]) == ("done", job["job_id"]), done.stderr
    assert (again["cwd"], again["branch"]) == (job["cwd"], branch)
    left = "not committed" in again["note"]
    assert left == (lane == "claude"), again["note"]
    if left:
        run_git(repo / ".outsourcerer/worktrees" / job["job_id"], "add", "--all")
        run_git(repo / ".outsourcerer/worktrees" / job["job_id"], "commit", "--quiet", "-m", "by hand")
    assert run_git(repo, "show", f"{branch}:more.txt") == "more"

    refused = world.osrc("cleanup", job["job_id"])
    assert refused.returncode == 1
    assert "2 commits on" in refused.stderr
    run_git(repo, "merge", "--quiet", "--squash", branch)
    run_git(repo, "commit", "--quiet", "-m", "squashed")
    assert world.osrc("cleanup", job["job_id"]).returncode == 0
    assert run_git(repo, "branch", "--format=%(refname:short)") == own
