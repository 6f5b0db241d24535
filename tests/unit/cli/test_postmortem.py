"""What an ended job is good for: work before words of a limit, and only the job's own work."""

import subprocess
import time

import pytest
from outsourcerer.cli.postmortem import classify
from outsourcerer.cli.work_evidence import DELEGATE, work_of

PLAN = {"kind": "plan"}


@pytest.mark.parametrize(
    ("job", "has_result", "work", "expected"),
    [
        ({"state": "done"}, True, None, "REUSE-OUTPUT completed"),
        ({"state": "done?"}, True, None, "REUSE-OUTPUT completed-unverified"),
        ({"state": "done"}, False, None, "REAL-FAIL empty-output"),
        ({"state": "wedged"}, False, "commits", "REUSE-OUTPUT false-stall:commits"),
        ({"state": "timeout"}, False, "writes", "REUSE-OUTPUT false-stall:writes"),
        ({"state": "interrupted"}, True, None, "REUSE-OUTPUT false-stall:deliverable"),
        ({"state": "failed", "outcome": "plan-limit", "cost": PLAN}, True, "writes", "REUSE-OUTPUT false-stall:writes"),
        (
            {"state": "failed", "outcome": "plan-limit", "cost": PLAN},
            True,
            None,
            "RETRY-DIFFERENT-LANE quota-exhausted",
        ),
        ({"state": "failed", "outcome": "plan-limit"}, False, None, "RETRY-DIFFERENT-LANE credit-exhausted"),
        (
            {"state": "failed", "outcome": "rate-limit", "model": "tencent/hy3:free"},
            False,
            None,
            "RETRY-DIFFERENT-LANE free-model-quota-exhausted",
        ),
        ({"state": "failed", "outcome": "transport"}, False, None, "RETRY-DIFFERENT-LANE transport"),
        ({"state": "permission-blocked"}, False, None, "RETRY-DIFFERENT-LANE wedge:permission-blocked"),
        ({"state": "failed", "outcome": "read-only-breach"}, True, "writes", "REAL-FAIL read-only-breach"),
        ({"state": "failed", "outcome": "empty-output"}, False, None, "REAL-FAIL empty-output"),
        ({"state": "interrupted", "outcome": "interrupted"}, False, None, "REAL-FAIL interrupted"),
        ({"state": "wedged", "outcome": "wedged"}, False, None, "REAL-FAIL watchdog:wedged"),
        ({"state": "failed", "exit_status": {"code": 7}}, False, None, "REAL-FAIL exit:7"),
        ({"state": "failed", "outcome": "check-failed"}, True, None, "REAL-FAIL check-failed"),
    ],
)
def test_each_reason(job, has_result, work, expected):
    assert " ".join(classify(job, ended=True, has_result=has_result, work=work)) == expected


def test_a_job_that_has_not_ended_is_not_judged():
    assert classify({"state": "running"}, ended=False, has_result=True) == ("REAL-FAIL", "job-not-terminal")


def git(folder, *words, **env):
    name = {"GIT_AUTHOR_NAME": "x", "GIT_COMMITTER_NAME": "x", "HOME": str(folder), "PATH": "/usr/bin:/bin"}
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, env={**name, **env})


def committed(folder, email):
    git(folder, "commit", "--allow-empty", "-qm", "x", GIT_AUTHOR_EMAIL=email, GIT_COMMITTER_EMAIL=email)


def test_only_commits_of_the_run_by_a_delegate_count(tmp_path):
    git(tmp_path, "init", "-q")
    now = time.time()
    job = {"verb": "edit", "cwd": str(tmp_path), "started": now - 5, "ended": now + 30, "progress": {"writes": 0}}
    committed(tmp_path, "person@example.org")
    assert work_of(job) is None
    committed(tmp_path, DELEGATE)
    assert work_of(job) == "commits"
    assert work_of({**job, "verb": "run"}) is None
    assert work_of({**job, "started": now - 5000, "ended": now - 4000}) is None
    assert work_of({**job, "started": None}) is None


@pytest.mark.parametrize("cwd", ["/no/such/folder", None, "-x"])
def test_a_folder_that_is_gone_leaves_what_the_events_say(cwd):
    job = {"verb": "edit", "cwd": cwd, "started": 1.0, "ended": 2.0, "progress": {"writes": 2}}
    assert work_of(job) == "writes"
