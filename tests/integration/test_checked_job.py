"""``--check``: a command of the person's own, run when the delegate has answered, decides what the job came to."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from fakes.lanes import steps
from fakes.supervised import Supervised, until

DONE = ({"mark": "DONE", "text": "ok"}, {"end": "all done"})


@pytest.mark.parametrize(
    ("check", "state", "code", "said"),
    [
        ("test -e made.txt", "done", 0, "its check passed"),
        ("echo why-not; exit 3", "failed", 1, "its check exit 3"),
        ("kill -9 $$", "failed", 1, "its check killed by signal 9"),
        ("no-such-command-at-all", "done?", 2, "could not be run"),
    ],
)
def test_the_check_decides(shared: Supervised, tmp_path: Path, check: str, state: str, code: int, said: str) -> None:
    task = steps({"write": "made.txt", "content": "x"}, *DONE)
    done = shared.osrc("edit", "--lane", "fake", "--cwd", str(tmp_path), "--check", check, "--json", "--", task)
    job = json.loads(done.stdout)
    assert (job["state"], done.returncode) == (state, code)
    assert said in job["note"]
    if state == "failed":
        assert job["outcome"] == "check-failed"
    if "why-not" in check:
        output = Path(job["note"].partition("its output: ")[2].split(";")[0])
        assert output.read_text() == "why-not\n"


def test_a_check_that_the_delegate_had_a_hand_in_vouches_for_nothing(shared: Supervised, tmp_path: Path) -> None:
    script = tmp_path / "check.sh"
    script.write_text("exit 1\n")
    task = steps({"write": str(script), "content": "exit 0\n"}, *DONE)
    words = ("edit", "--lane", "fake", "--cwd", str(tmp_path), "--check", "sh check.sh", "--json", "--", task)
    job = json.loads(shared.osrc(*words).stdout)
    assert (job["state"], job["exit"]) == ("done?", 2)
    assert "changed what it consists of: check.sh" in job["note"]
    assert [fact for fact in shared.facts("job.outcome") if fact["job_id"] == job["job_id"]] == []


def test_a_check_is_run_once_whoever_is_killed(home: Supervised, tmp_path: Path) -> None:
    go, runs = tmp_path / "go", tmp_path / "runs"
    check = f"echo run >> {runs}; while ! test -e {go}; do sleep 0.1; done"
    job_id = home.bg(*DONE, verb="edit", words=("--check", check))
    until(runs.exists, "its check runs")
    until(lambda: "its check is run" in home.ok("status", job_id, "--json"), "it is said what it waits for")
    home.kill_supervisor()
    home.bg({"end": "hi"})  # brings the next one
    until(lambda: home.supervisor() and home.daemons(), "the next supervisor is there")
    go.touch()
    job = home.ended(job_id)
    assert (job["state"], job["note"]) == ("done", "its check passed")
    assert runs.read_text() == "run\n"
    told = [fact for fact in home.facts("job.outcome") if fact["job_id"] == job_id]
    assert [(fact["outcome"], fact["source"]) for fact in told] == [("passed", "check")]


def test_cancel_ends_a_check(shared: Supervised, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    job_id = shared.bg(*DONE, verb="edit", words=("--check", f"echo $$ > {pid}; sleep 300"))
    until(lambda: pid.exists() and pid.read_text().strip(), "its check runs")
    shared.ok("cancel", job_id)
    job = shared.ended(job_id)
    assert (job["state"], job["note"]) == ("done?", "its check was canceled")
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


def test_retry_keeps_the_check_and_a_bound_needs_one(shared: Supervised, tmp_path: Path) -> None:
    task = steps(*DONE)
    words = ("edit", "--lane", "fake", "--cwd", str(tmp_path), "--check", "sleep 60", "--check-timeout", "1")
    plan = json.loads(shared.ok(*words, "--dry-run", "--json", "--", task))["plan"]
    assert "its check, when the answer is in (at most 1 s): sleep 60" in plan["notices"]
    job = json.loads(shared.osrc(*words, "--json", "--", task).stdout)
    assert (job["state"], "ran out of time" in job["note"]) == ("failed", True)
    again = json.loads(shared.osrc("retry", job["job_id"], "--json").stdout)
    assert (again["state"], again["outcome"]) == ("failed", "check-failed")
    done = shared.osrc("edit", "--lane", "fake", "--check-timeout", "5", "--", task)
    assert (done.returncode, b"--check CMD" in done.stderr) == (64, True)


def test_a_check_sees_what_the_branch_holds_or_vouches_for_nothing(shared: Supervised, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    git = ("git", "-C", str(repo), "-c", "user.name=me", "-c", "user.email=me@example.invalid")
    subprocess.run([*git[:3], "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    away = "git checkout -q -b side && touch made.txt && git add made.txt && git commit -q -m away"
    words = ("edit", "--lane", "fake", "--cwd", str(repo), "--worktree", "--check", "test -e made.txt", "--json", "--")
    job = json.loads(shared.osrc(*words, steps({"run": ["sh", "-c", away]}, *DONE)).stdout)
    assert (job["state"], f"not on {job['branch']} any more" in job["note"]) == ("done?", True)
    job = json.loads(shared.osrc(*words, steps({"write": "made.txt", "content": "x"}, *DONE)).stdout)
    assert (job["state"], "its check passed" in job["note"]) == ("done", True)
