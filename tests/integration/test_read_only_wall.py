"""A read-only job on a lane whose own mode is no wall: what it changes is named, and where bubblewrap works it can't."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fakes.lanes import fake_argv, lane_toml, write_lane
from fakes.supervised import Supervised, until

COMPARE = {"OSRC_WALL": "compare"}
BWRAP = shutil.which("bwrap")


def bwrap_works() -> bool:
    words = (BWRAP or "", "--unshare-user", "--cap-drop", "ALL", "--dev-bind", "/", "/", "true")
    return BWRAP is not None and subprocess.run(words, check=False, capture_output=True).returncode == 0


NEEDS_BWRAP = pytest.mark.skipif(not bwrap_works(), reason="bubblewrap is not here, or may not make user namespaces")


@pytest.fixture
def home(home: Supervised) -> Supervised:
    """The scratch home with one more lane, ``judged``: the fake, whose read-only mode is nobody's wall."""
    extra = 'wall = "ours"\nstate = ["~/.judged"]'
    write_lane(home.root, "judged", lane_toml(argv=fake_argv("osrc-jsonl"), extra=extra))
    (home.work / "a.txt").write_text("a\n")
    return home


def in_git(place: Path) -> None:
    subprocess.run(("git", "init", "-q", "-b", "main", str(place)), check=True)


@pytest.mark.parametrize("git", [True, False])
def test_a_breach_is_named_file_by_file_and_the_job_is_not_done(home: Supervised, git: bool):
    if git:
        in_git(home.work)
    steps: list[dict[str, Any]] = [
        {"write": "new.txt", "content": "x", "quiet": True},
        {"write": "a.txt", "content": "changed", "quiet": True},
        {"end": "nothing was changed, trust me", "ok": True},
    ]
    job, done = home.run(*steps, lane="judged", **COMPARE)
    assert (job["state"], job["exit"], job["outcome"], done.returncode) == ("failed", 1, "read-only-breach", 1)
    assert job["reason"] == "read-only breach: modified a.txt, added new.txt"
    assert "changed although READ-ONLY: modified a.txt, added new.txt" in job["note"]
    assert home.result(job["job_id"]) == "nothing was changed, trust me"
    assert b"compared before and after" in done.stderr


def test_a_signed_done_does_not_outweigh_it(home: Supervised):
    job, _done = home.run(
        {"write": "new.txt", "content": "x"}, {"mark": "DONE"}, {"end": "ok"}, lane="judged", **COMPARE
    )
    assert (job["state"], job["outcome"]) == ("failed", "read-only-breach")


def test_a_job_that_kept_the_promise_is_what_it_was(home: Supervised):
    in_git(home.work)
    job, _done = home.run({"mark": "DONE"}, {"end": "ok"}, lane="judged", **COMPARE)
    assert (job["state"], job["note"]) == ("done", None)


def test_a_verb_that_may_write_is_not_watched(home: Supervised):
    job, _done = home.run({"write": "new.txt", "content": "x"}, {"end": "ok"}, verb="edit", lane="judged", **COMPARE)
    assert job["state"] == "done?"
    assert not (home.folder(job["job_id"]) / "guard.json").exists()


def test_more_changes_than_a_note_holds_are_in_a_file(home: Supervised):
    command = ["sh", "-c", "for n in $(seq 100 160); do : > f$n; done"]
    job, _done = home.run({"run": command}, {"end": "ok"}, lane="judged", **COMPARE)
    assert job["outcome"] == "read-only-breach"
    assert "and 21 more" in job["note"]
    assert len((home.folder(job["job_id"]) / "changes.txt").read_text().splitlines()) == 61


def test_a_tree_that_is_too_large_is_said_not_to_be_compared(home: Supervised):
    for number in range(20):
        (home.work / str(number)).touch()
    home.start_changed("from outsourcerer.actors import tree_snapshot; tree_snapshot.MOST_FILES = 10")
    job, _done = home.run({"write": "new.txt", "content": "x"}, {"end": "ok"}, lane="judged", **COMPARE)
    assert job["state"] == "done?"
    assert "the work tree was not compared: too large" in job["note"]


def test_a_supervisor_that_is_killed_in_between_forgets_nothing(home: Supervised):
    go = home.scratch / "go"
    job_id = home.bg(
        {"write": "new.txt", "content": "x"},
        {"wait_for": str(go)},
        {"end": "ok"},
        lane="judged",
        **COMPARE,
    )
    home.running(job_id)
    until((home.work / "new.txt").exists, "the delegate has written")
    home.kill_supervisor()
    go.touch()
    home.osrc("wait", job_id)
    job = home.ended(job_id)
    assert (job["state"], job["reason"]) == ("failed", "read-only breach: added new.txt")


def test_without_a_daemon_it_is_the_same(home: Supervised):
    words = ("--no-daemon",)
    job, done = home.run({"write": "new.txt", "content": "x"}, {"end": "ok"}, lane="judged", words=words, **COMPARE)
    assert (job["state"], done.returncode) == ("failed", 1)


def test_a_canceled_job_says_what_it_changed(home: Supervised):
    job_id = home.bg({"write": "new.txt", "content": "x"}, {"sleep": 600}, lane="judged", **COMPARE)
    home.running(job_id)
    until((home.work / "new.txt").exists, "the delegate has written")
    home.ok("cancel", job_id)
    job = home.ended(job_id)
    assert job["state"] == "canceled"
    assert "added new.txt" in job["note"]


@NEEDS_BWRAP
def test_behind_the_wall_nothing_can_be_written_by_any_road(home: Supervised):
    in_git(home.work)
    (home.work / "sub").mkdir()
    roads = """
    echo x > new.txt; echo x >> a.txt; rm a.txt; mkdir d; git config x.y z; touch ../work/up.txt
    mount -o remount,rw,bind "$1"; umount "$1"; unshare -Urm sh -c "umount '$1'; touch '$1/x2'"
    for pid in /proc/[0-9]*; do touch "$pid/root$1/by-proc"; done
    exit 0
    """
    command = ["sh", "-c", roads, "sh", str(home.work)]
    job, done = home.run({"run": command}, {"mark": "DONE"}, {"end": "ok"}, lane="judged", cwd=home.work / "sub")
    assert (job["state"], job["note"]) == ("done", None), job
    assert sorted(path.name for path in home.work.iterdir()) == [".git", "a.txt", "sub"]
    assert b"read-only (bubblewrap)" in done.stderr


@NEEDS_BWRAP
def test_behind_the_wall_the_rest_is_as_it_was(home: Supervised):
    elsewhere, seen = home.scratch / "elsewhere.txt", home.scratch / "seen.txt"
    command = ["sh", "-c", f"pwd > '{seen}'; env | grep -c OSRC_JOB_ID >> '{seen}'"]
    job, _done = home.run({"write": str(elsewhere), "content": "x"}, {"run": command}, {"exit": 7}, lane="judged")
    assert job["exit_status"]["code"] == 7
    assert elsewhere.exists()
    assert seen.read_text().split() == [str(home.work), "1"]


@NEEDS_BWRAP
def test_in_the_home_folder_the_clis_own_state_stays_writable(home: Supervised):
    (home.scratch / ".judged").mkdir()
    state = home.scratch / ".judged" / "session"
    steps: list[dict[str, Any]] = [
        {"write": str(state), "content": "x"},
        {"run": ["sh", "-c", "touch no.txt; exit 0"]},
        {"mark": "DONE"},
        {"end": "ok"},
    ]
    job, _done = home.run(*steps, lane="judged", cwd=home.scratch)
    assert (job["state"], job["note"]) == ("done", None)
    assert state.exists()
    assert not (home.scratch / "no.txt").exists()


@NEEDS_BWRAP
def test_a_wall_does_not_tie_the_delegate_to_its_supervisor(home: Supervised):
    go = home.scratch / "go"
    job_id = home.bg({"wait_for": str(go)}, {"mark": "DONE"}, {"end": "ok"}, lane="judged")
    home.running(job_id)
    home.kill_supervisor()
    go.touch()
    home.osrc("wait", job_id)
    assert home.ended(job_id)["state"] == "done"


@NEEDS_BWRAP
def test_what_is_behind_the_wall_can_be_ended(home: Supervised):
    job_id = home.bg({"ignore": ["TERM"]}, {"grandchild": 600, "setsid": True}, {"sleep": 600}, lane="judged")
    home.running(job_id)
    home.ok("cancel", job_id)
    assert home.ended(job_id)["state"] == "canceled"
    home.nothing_left()


def test_the_dry_run_shows_it(home: Supervised):
    done = home.osrc("run", "--lane", "judged", "--dry-run", "--", "a task")
    assert done.returncode == 0
    shown = done.stdout + done.stderr
    assert (b"--ro-bind" in shown) is bwrap_works()
