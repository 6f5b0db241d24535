"""Jobs in work trees of their own, over the fake lane and the real git."""

from __future__ import annotations

import json
import os
from pathlib import Path

from fakes.osrc_process import parsed, shown
from fakes.repos import repository, run_git
from fakes.supervised import Supervised, until
from outsourcerer.messages.session import SessionRecord
from outsourcerer.state.home import Home
from outsourcerer.state.session_folder import SessionFolder
from outsourcerer.state.store import Store

FORTY = 40


def commit_own(name: str) -> list[dict[str, object]]:
    """Steps of a delegate that writes a file and commits it itself."""
    return [
        {"write": name, "content": f"{name}\n"},
        {"run": ["git", "add", "--all"]},
        {"run": ["git", "commit", "--quiet", "-m", name]},
        {"end": "committed", "ok": True},
    ]


def ended_session(home: Supervised) -> Path:
    """Put a session that has ended long ago into a home without a supervisor; return its folder."""
    base = {"session_id": "20261130-124501-000000000001", "name": "old", "lane": "claude", "vehicle": "claude"}
    ended = {"cwd": "/w", "transport": "native", "accepted_at": 1.0, "ended": 2.0, "state": "exited"}
    record = SessionRecord.model_validate({**base, **ended})
    folder = SessionFolder.create(Home(home.root), record.session_id)
    folder.write_meta(record)
    store = Store.open(home.root / "state.db", now=3.0)
    store.restore_session(record)
    store.commit()
    store.close()
    return folder.path


def test_forty_jobs_edit_one_repository_at_once_and_no_commit_is_lost(home: Supervised) -> None:
    repo = repository(home.scratch / "a repo", files={"shared.txt": "line\n"})
    (repo / "own.txt").write_text("the person's own")
    before = run_git(repo, "rev-parse", "HEAD"), run_git(repo, "status", "--porcelain")
    home.environ["OSRC_MAX_JOBS"] = "12"
    jobs = []
    for number in range(FORTY):
        # Every second one is of a kind whose sandbox keeps it from committing: that is done for it.
        sealed = number % 2 == 1
        steps = commit_own(f"{number}.txt")
        steps = [steps[0], steps[-1]] if sealed else steps
        steps.insert(0, {"write": "shared.txt", "content": f"{number}\n"})
        verb = "research" if sealed else "edit"
        jobs.append(home.bg(*steps, verb=verb, words=("--worktree",), cwd=repo))
    records = [home.ended(job_id, 240) for job_id in jobs]
    form = "%(refname:short)%00%(objectname)%00%(parent)%00%(subject)"
    rows = run_git(repo, "for-each-ref", f"--format={form}", "refs/heads/outsourcerer/").splitlines()
    branches = {name: rest for name, *rest in (row.split("\0") for row in rows)}
    assert len(branches) == FORTY
    for number, record in enumerate(records):
        job_id, tree = record["job_id"], Path(record["worktree"])
        assert record["state"] == "done?", record
        assert (record["base"], record["branch"]) == (before[0], f"outsourcerer/{job_id}")
        assert tree == repo / ".outsourcerer/worktrees" / job_id
        head, parent, subject = branches[record["branch"]]
        assert parent == before[0]  # one commit on the base, no other job's among them
        assert subject == (f"{job_id}: research by fake" if number % 2 else f"{number}.txt")
        kept = json.loads((home.folder(job_id) / "worktree.json").read_bytes())
        assert (kept["ahead"], kept["dirty"], kept["head_sha"]) == (1, False, head), record["note"]
        assert [(tree / name).read_text() for name in ("shared.txt", f"{number}.txt")] == [
            f"{number}\n",
            f"{number}.txt\n",
        ]
    assert (run_git(repo, "rev-parse", "HEAD"), run_git(repo, "status", "--porcelain")) == before
    run_git(repo, "fsck", "--strict")

    run_git(repo, "merge", "--quiet", "--no-edit", f"outsourcerer/{jobs[0]}")
    done = home.osrc("cleanup", *jobs, "--json")
    assert done.returncode == 1, shown(done)
    told = parsed(done)
    assert told["removed"] == [jobs[0]]
    assert {kept["job_id"] for kept in told["kept"]} == set(jobs[1:])
    assert all("that no other branch has" in kept["why"] for kept in told["kept"])
    dry = parsed(home.osrc("gc", "--older-than", "0", "--dry-run", "--json"))
    assert (dry["removed"], len(dry["kept"])) == ([], FORTY - 1)
    home.ok("cleanup", "--force", *jobs[1:])
    assert run_git(repo, "worktree", "list").count("\n") == 0
    assert run_git(repo, "branch", "--format=%(refname:short)") == "main"
    assert run_git(repo, "status", "--porcelain") == before[1]
    assert home.records() == []
    assert [entry.name for entry in (home.root / "jobs").iterdir()] == []


def test_a_killed_supervisor_leaves_the_tree_and_the_order_as_they_are(home: Supervised, tmp_path: Path) -> None:
    repo = repository(home.scratch / "repo", files={"sub/a.txt": "one\n"})
    go = tmp_path / "go"
    first = home.bg(
        {"write": "half.txt", "content": "half"},
        {"wait_for": str(go), "timeout_s": 120},
        {"write": "whole.txt", "content": "whole"},
        {"end": "both", "ok": True},
        verb="research",
        words=("--worktree",),
        cwd=repo / "sub",
    )
    second = home.bg({"end": "after"}, words=("--after", first))
    home.ok("pause", "--all")
    third = home.bg({"end": "held"})
    record = home.running(first)
    assert record["cwd"] == f"{repo}/.outsourcerer/worktrees/{first}/sub"
    until(lambda: Path(record["cwd"], "half.txt").exists(), "it works in its own tree")
    home.kill_supervisor()
    for word in (first, second, third):
        home.ok("status", word)
    home.osrc("supervisor", "restart")
    note = parsed(home.osrc("status", third, "--json"))["note"]
    assert note == "paused: osrc resume --all"
    go.touch()
    ended = home.ended(first)
    assert "1 commit on" in ended["note"], ended
    assert run_git(repo, "show", f"{ended['branch']}:sub/whole.txt") == "whole"
    assert (home.state(second), home.state(third)) == ("queued", "queued")
    home.kill_supervisor()
    told = parsed(home.osrc("resume", "--all", "--json"))
    assert told["paused"] == []
    assert home.ended(second)["state"] == "done?"
    assert home.ended(third)["state"] == "done?"

    home.ok("supervisor", "stop")
    until(lambda: not home.daemons(), "the supervisor is gone")
    session = ended_session(home)
    home.environ["OSRC_JOB_TTL_DAYS"] = "0.0000001"
    late = home.bg({"wait_for": str(tmp_path / "never"), "timeout_s": 120})
    until(lambda: {record["job_id"] for record in home.records()} == {first, late}, "what is old and saved is gone")
    until(lambda: not home.folder(second).exists() and not session.exists(), "their folders are gone")
    assert home.facts("session.removed")
    assert Path(record["worktree"]).exists()  # its commit is on no other branch
    home.ok("cancel", late)


def test_what_comes_after_a_failed_job_is_skipped_and_the_greater_priority_goes_first(home: Supervised) -> None:
    home.environ["OSRC_MAX_JOBS"] = "1"
    go = home.scratch / "go"
    first = home.bg({"wait_for": str(go), "timeout_s": 120}, {"exit": 3})
    child = home.bg({"end": "no"}, words=("--after", first, "--label", "child"))
    grandchild = home.bg({"end": "no"}, words=("--after", "child"))
    low = home.bg({"end": "low"})
    high = home.bg({"end": "high"}, words=("--priority", "7"))
    assert parsed(home.osrc("status", child, "--json"))["note"] == f"starts once these are done: {first}"
    assert home.osrc("bg", "--lane", "fake", "--after", "nobody", "x").returncode == 1
    stays = home.osrc("cleanup", first)
    assert stays.returncode == 1
    assert b"has not ended" in stays.stderr
    go.touch()
    for job_id, earlier in ((child, f"{first}, which ended failed"), (grandchild, f"{child}, which ended canceled")):
        record = home.ended(job_id)
        assert (record["state"], record["exit"], record["started"]) == ("canceled", 1, None)
        assert record["reason"] == f"skipped: it comes after {earlier}"
    assert home.ended(low)["started"] >= home.ended(high)["ended"]
    late = home.osrc("run", "--lane", "fake", "--after", first, "x")
    assert late.returncode == 1, shown(late)
    assert b"skipped" in late.stderr
    home.ok("gc", "--older-than", "0")
    assert home.records() == []
    home.kill_supervisor()
    (home.root / "state.db").unlink()
    for suffix in ("-wal", "-shm"):
        (home.root / f"state.db{suffix}").unlink(missing_ok=True)
    assert home.ok("status", "--all", "--json")
    assert home.osrc("bg", "--lane", "fake", "x").returncode == 0
    assert len(home.records()) == 1


def test_a_tree_that_cannot_be_made_ends_its_job_with_the_reason(home: Supervised) -> None:
    repo = repository(home.scratch / "repo")
    home.ok("pause", "--all")
    job_id = home.bg({"end": "no"}, verb="edit", words=("--worktree",), cwd=repo)
    os.rename(repo, home.scratch / "moved")  # noqa: PTH104  a folder under everybody's feet
    home.ok("resume", "--all")
    record = home.ended(job_id)
    assert record["state"] == "failed"
    assert record["reason"] == f"worktree: {repo} is not there any more"
    assert not repo.exists()
    stays = home.osrc("cleanup", job_id)
    assert stays.returncode == 1
    assert b"can't be seen" in stays.stderr
    home.ok("cleanup", "--force", job_id)
    assert home.records() == []
