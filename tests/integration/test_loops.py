"""Loops over fake lanes, as a person runs them: to green, to a bound, through kills, never graded on what did not run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from fakes.lanes import ALL_VERBS, fake_argv, lane_toml, steps, write_lane
from fakes.osrc_process import shown
from fakes.repos import repository, run_git
from fakes.supervised import Supervised, until
from outsourcerer.lanes.contract import Posture

COUNT = 'n=$(cat laps 2>/dev/null | wc -l); echo "only $n of 2"; test $n -ge 2'
"""Green once two laps have left a line."""
LAP = ({"run": ["sh", "-c", "echo x >> laps"]}, {"end": "one more"})


def last(home: Supervised, *words: str) -> dict[str, Any]:
    return json.loads(home.osrc("loop", "status", *words, "--json").stdout)


def looped(home: Supervised, *words: str, expect: str) -> dict[str, Any]:
    """Run a loop to its end; its state is on stdout."""
    done = home.osrc("loop", *words)
    assert done.stdout.decode().strip() == expect, shown(done)
    assert b"Traceback" not in done.stderr
    return last(home)


def test_to_green_with_what_failed_in_the_next_lap(home: Supervised) -> None:
    done = home.osrc("loop", "verify", "--lane", "fake", "--label", "mine", "--check", COUNT, "--", steps(*LAP))
    assert (done.returncode, done.stdout) == (0, b"success\n"), shown(done)
    assert b"lap 2 check: passed" in done.stderr
    found = last(home, "mine")
    assert [(one["role"], one["lap"], one["state"]) for one in found["steps"]] == [
        ("check", 0, "failed"),
        ("build", 1, "done?"),
        ("check", 1, "failed"),
        ("build", 2, "done?"),
        ("check", 2, "passed"),
    ]
    jobs = [one["job_id"] for one in found["steps"] if one["job_id"]]
    assert "only 1 of 2" in (home.folder(jobs[1]) / "prompt.md").read_text()
    told = [(one["job_id"], one["outcome"], one["source"]) for one in home.facts("job.outcome")]
    assert told == [(jobs[0], "failed", "check"), (jobs[1], "passed", "check")]
    listed = json.loads(home.ok("loop", "list", "--json"))["loops"]
    assert [(one["label"], one["state"], one["laps"]) for one in listed] == [("mine", "success", 2)]

    folder = Path(found["folder"])
    home.ok("cleanup", jobs[0])
    assert folder.is_dir()
    home.ok("cleanup", jobs[1])
    assert not folder.exists()
    assert last(home, "mine")["state"] == "success"

    refused = home.osrc("loop", "resume", "mine", "--max", "9")
    assert (refused.returncode, b"has succeeded" in refused.stderr) == (64, True), shown(refused)
    refused = home.osrc("loop", "verify", "--lane", "fake", "--", "no check")
    assert refused.returncode == 64
    assert b"osrc loop optimize" in refused.stderr
    refused = home.osrc("loop", "escalate", "--lane", "fake", "--ladder", "a,", "--check", "x", "--", "t")
    assert refused.returncode == 64, shown(refused)
    planned = home.osrc("loop", "verify", "--lane", "fake", "--check", "x", "--dry-run", "--", "t")
    assert planned.stdout.startswith(b"build: fake default (MUTATING;"), shown(planned)
    assert home.records() == []


def test_bounds_a_changed_check_and_what_a_resume_makes_of_them(home: Supervised) -> None:
    words = ("verify", "--lane", "fake", "--max", "1", "--check", COUNT, "--", steps(*LAP))
    found = looped(home, *words, expect="max_turns")
    lower = home.osrc("loop", "resume", found["loop_id"])
    assert (lower.returncode, b"give a higher --max than 1" in lower.stderr) == (64, True), shown(lower)
    resumed = home.osrc("loop", "resume", found["loop_id"], "--max", "4")
    assert resumed.stdout == b"success\n", shown(resumed)
    assert b"lap 1 build" not in resumed.stderr  # said before
    assert len(home.records()) == 2

    (home.work / "check.sh").write_text("exit 1\n")
    cheat = steps({"run": ["sh", "-c", "echo 'exit 0' > check.sh"]}, {"end": "green"})
    found = looped(home, "verify", "--lane", "fake", "--check", "sh check.sh", "--", cheat, expect="blocked")
    assert (found["steps"][1]["changed"], "check.sh" in found["reason"]) == (["check.sh"], True)
    assert len(home.facts("job.outcome")) == 2  # such a check says nothing of the job
    assert home.osrc("loop", "resume", found["loop_id"]).returncode == 0

    hangs = ("verify", "--lane", "fake", "--max-minutes", "0.02", "--check", "sleep 600", "--", "x")
    assert looped(home, *hangs, expect="max_time")["laps"] == 0
    green = looped(home, "verify", "--lane", "fake", "--check", "true", "--", "x", expect="blocked")
    assert (green["laps"], "passes already" in green["reason"]) == (0, True)


def test_other_shapes(home: Supervised) -> None:
    fixes = steps({"run": ["sh", "-c", "test {model} = m2 && echo ok > fixed"]}, {"end": "did it"})
    words = ("escalate", "--lane", "fake", "--ladder", "m1,m2,m3", "--per-tier", "1", "--check", "cat fixed")
    found = looped(home, *words, "--", fixes, expect="success")
    assert [one["model"] for one in found["steps"] if one["role"] == "build"] == ["m1", "m2"]
    assert found["unused_models"] == ["m3"]

    finds = steps({"end": "FINDING: a.py:1 bad\n- FINDING: `A.py:1` bad\nFINDING: b"})
    found = looped(home, "sweep", "--lane", "fake", "--", finds, expect="success")
    assert [one["found"] for one in found["steps"]] == [2, 0, 0]
    assert Path(found["findings_path"]).read_text() == "a.py:1 bad\nb\n"

    (home.scratch / "rubric.md").write_text("be brief")
    words = ("optimize", "--lane", "fake", "-m", "w", "--rubric", str(home.scratch / "rubric.md"), "--judge", "fake:j")
    found = looped(home, *words, "--bar", "50", "--", steps({"end": "fine\nSCORE: 50"}), expect="success")
    assert found["best"]["job_id"] == found["steps"][0]["job_id"]

    meet = (
        "touch s-{model}; while ! test -e s-x || ! test -e s-y; do sleep 0.02; done"  # both seats are at work at once
    )
    builds = steps(
        {"run": ["sh", "-c", f"{meet}; test {{model}} = b && touch built"]},
        {"end": "plan of {model}\nVERDICT: AS PLANNED"},
    )
    words = ("council", "-m", "fake:b", "--seats", "fake:x,fake:y", "--rounds", "1", "--check", "test -e built")
    found = looped(home, *words, "--", builds, expect="blocked")
    assert "--plan-file" in found["hint"]
    (home.scratch / "plan.md").write_text("the captain's own plan")
    home.ok("loop", "resume", found["loop_id"], "--plan-file", str(home.scratch / "plan.md"))
    found = last(home)
    roles = [(one["role"], one["model"]) for one in found["steps"] if one["role"] != "check"]
    assert roles == [("debate", "x"), ("debate", "y"), ("build", "b"), ("advise", "x")]
    built = next(one["job_id"] for one in found["steps"] if one["role"] == "build")
    assert "the captain's own plan" in (home.folder(built) / "prompt.md").read_text()


def test_in_a_work_tree_of_its_own(home: Supervised) -> None:
    sealed = lane_toml(argv=fake_argv("osrc-jsonl"), verbs=ALL_VERBS | {"edit": Posture.WORKSPACE_WRITE.value})
    write_lane(home.root, "sealed", sealed)
    # That lane can't go on with a conversation: each lap is asked anew.
    asked = ("--lane", "sealed", "--worktree", "--keep-conversation")
    words = ("verify", *asked, "--check", "sh check.sh", "--", steps(*LAP))
    refused = home.osrc("loop", *words)
    assert (refused.returncode, b"in no git repository" in refused.stderr) == (1, True), shown(refused)
    repository(home.work, files={"check.sh": COUNT, "a.txt": "one\n"})
    (home.work / "check.sh").write_text("exit 0\n")  # not committed: neither the tree nor its check knows of it
    found = looped(home, *words, expect="success")
    assert not (home.work / "laps").exists()
    tree = Path(found["worktree"])
    assert (tree / "laps").read_text() == "x\nx\n"
    first, second = (one["job_id"] for one in found["steps"] if one["job_id"])
    assert (tree.name, found["branch"]) == (first, f"outsourcerer/{first}")
    assert (home.record(second)["cwd"], home.record(second)["worktree"]) == (str(tree), None)
    # Each lap was committed for it: the branch has what the check passed on.
    assert run_git(home.work, "show", f"{found['branch']}:laps") == "x\nx"
    subjects = run_git(home.work, "log", "--reverse", "--format=%s", found["branch"]).split("\n")[1:]
    assert [one.partition(":")[0] for one in subjects] == [first, second]
    assert f"2 commits on {found['branch']} (committed for it" in found["steps"][3]["detail"]


def test_canceled_wherever_it_is(home: Supervised) -> None:
    words = ("loop", "verify", "--lane", "fake", "--bg", "--check")
    loop_id = home.ok(*words, "echo $$ > checks; sleep 600", "--", "x").strip()
    pid = int(until(lambda: (path := home.work / "checks").exists() and path.read_text().strip(), "the check runs"))
    # Its id is taken where those of jobs are, and it is listed with them.
    assert home.osrc("wait", loop_id, "--for", "0").returncode == 124
    assert json.loads(home.ok("status", loop_id, "--json"))["state"] == "running"
    assert [one["loop_id"] for one in json.loads(home.ok("status", "--json"))["loops"]] == [loop_id]
    assert loop_id in home.ok("status")
    both = home.osrc("wait", loop_id, "x")
    assert (both.returncode, b"give it alone" in both.stderr) == (64, True), shown(both)
    home.ok("cancel", loop_id)
    assert home.osrc("watch", loop_id).returncode == 130
    assert "loops" not in json.loads(home.ok("status", loop_id, "--json"))
    assert not Path(f"/proc/{pid}").exists()

    for count, (number, code, state) in enumerate(
        [(signal.SIGHUP, 129, "running"), (signal.SIGTERM, 143, "canceled"), (signal.SIGINT, 130, "canceled")]
    ):
        followed = home.start("loop", "verify", "--lane", "fake", "--check", "false", "--", steps({"sleep": 600}))
        until(lambda count=count: len(home.records()) > count and home.newest()["delegate"], "the lap runs")
        followed.send_signal(number)
        assert followed.wait(240) == code
        assert last(home)["state"] == state
        if state == "running":
            home.ok("loop", "cancel", last(home)["loop_id"])
            assert home.osrc("loop", "wait").returncode == 130
    home.nothing_left()


def test_without_a_daemon_and_after_a_lost_store(home: Supervised) -> None:
    words = ("loop", "verify", "--no-daemon", "--lane", "fake", "--check", COUNT, "--", steps(*LAP))
    done = home.osrc(*words)
    assert (done.returncode, home.daemons()) == (0, []), shown(done)
    before = last(home)
    for path in home.root.glob("state.db*"):
        path.unlink()
    home.ok("supervisor", "restart")
    until(lambda: json.loads(home.osrc("loop", "list", "--json").stdout).get("loops"), "the loop is there again")
    assert last(home) == before


def test_a_store_that_is_lost_in_a_lap_loses_no_loop(home: Supervised) -> None:
    task = steps({"record": "started"}, {"wait_for": str(home.work / "go")}, *LAP)
    loop_id = home.ok("loop", "verify", "--lane", "fake", "--bg", "--check", "test -e laps", "--", task).strip()
    until((home.work / "started").exists, "the lap runs")
    home.kill_supervisor()
    for path in home.root.glob("state.db*"):
        path.unlink()
    other = f"loop-20261130-010203-{'0' * 12}"  # half a character can't be journalled; no number can't be read again
    for name, kept in ((other, {"label": "\ud800"}), (f"{other[:-1]}1", {"spent_s": float("nan")})):
        folder = home.root / "loops" / name
        folder.mkdir(mode=0o700)
        record = json.loads((folder.parent / loop_id / "record.json").read_text()) | {"loop_id": name} | kept
        (folder / "record.json").write_text(json.dumps(record))
        (folder / "record.json").chmod(0o600)
    home.ok("supervisor", "restart")
    until(lambda: json.loads(home.osrc("loop", "list", "--json").stdout).get("loops"), "the loop is there again")
    assert home.log().count("not restored: ") == 2
    (home.work / "go").touch()
    assert home.osrc("loop", "wait", loop_id).returncode == 0
    states = [(one["role"], one["state"]) for one in last(home)["steps"]]
    assert states == [("check", "failed"), ("build", "done?"), ("check", "passed")]
    assert len((home.work / "started").read_text().splitlines()) == len(home.records()) == 1

    # What the store itself holds, and makes no sense here: that loop alone has ended.
    home.kill_supervisor()
    fact = {"kind": "loop.accepted", "loop_id": other, "record": {"loop_id": other, "terms": {"shape": "newer"}}}
    with contextlib.closing(sqlite3.connect(home.root / "state.db")) as store, store:
        told = (1.0, other, fact["kind"], json.dumps(fact))
        store.execute("INSERT INTO facts (at, job_id, kind, body) VALUES (?, ?, ?, ?)", told)
    home.ok("supervisor", "restart")
    ended = until(lambda: [fact for fact in home.facts("loop.ended") if fact["loop_id"] == other], "it has ended")
    assert (len(ended), ended[0]["end"], "crashed" in home.log()) == (1, "blocked", False)
    done = home.osrc("loop", "resume", other, "--max", "9")
    assert (done.returncode, b"makes no sense to this version" in done.stderr) == (1, True), done.stderr
    home.nothing_left()


# --- kills

CHECK = "echo $$ >> checks; while ! test -e go$(wc -l < checks); do sleep 0.02; done; test -e laps"
"""Its n-th run waits for the file go<n>; red until a lap was."""


def test_a_supervisor_that_is_killed_in_a_check_and_in_a_lap(home: Supervised) -> None:
    task = steps({"record": "started"}, {"wait_for": str(home.work / "lap")}, *LAP)
    loop_id = home.ok("loop", "verify", "--lane", "fake", "--bg", "--check", CHECK, "--", task).strip()
    checks = home.work / "checks"
    until(lambda: checks.exists() and len(checks.read_text()) > 0, "the first check runs")
    home.kill_supervisor()
    (home.work / "go1").touch()
    waiting = home.start("loop", "wait", loop_id)
    until((home.work / "started").exists, "the lap runs")
    home.kill_supervisor()
    (home.work / "lap").touch()
    until(lambda: len(checks.read_text().splitlines()) == 2, "the second check runs")
    home.kill_supervisor()
    keeper = _keeper(home, loop_id)
    os.kill(keeper, signal.SIGKILL)  # and nobody sees how it ends
    (home.work / "go2").touch()
    until(lambda: len(checks.read_text().splitlines()) == 3, "the check runs again")
    (home.work / "go3").touch()
    assert waiting.wait(240) == 0
    states = [(one["role"], one["state"]) for one in last(home)["steps"]]
    assert states == [("check", "failed"), ("build", "done?"), ("check", "not_run"), ("check", "passed")]
    assert len((home.work / "started").read_text().splitlines()) == len(home.records()) == 1
    home.nothing_left()


def _keeper(home: Supervised, loop_id: str) -> int:
    claim = home.root / "loops" / loop_id / "check-3" / "claim.1"
    first = until(lambda: claim.exists() and claim.read_text().splitlines(), "it is claimed")[0]
    return int(json.loads(first)["pid"])


DIE = "import os, signal\ndef die(*a, **k): os.kill(os.getpid(), signal.SIGKILL)\n"
WORK = "from outsourcerer.actors.loop_work import LoopWork\nfrom outsourcerer.actors.job_desk import JobDesk\n"
KILLS = {
    "before its job is asked for": "LoopWork.launch = die",
    "as its job's folder is made": "from outsourcerer.actors import job_desk\njob_desk.ask = die",
    "after its job was taken": "old = JobDesk.submit\ndef new(self, request, *, dry_run=False):\n"
    "    reply = old(self, request, dry_run=dry_run)\n    return reply if dry_run else die()\nJobDesk.submit = new",
    "as its job has ended": "LoopWork.settle = die",
    "before its check begins": "old = LoopWork.check\ndef new(self, record, step, stop):\n"
    "    return old(self, record, step, stop) if step.lap == 0 else die()\nLoopWork.check = new",
    "as its check has ended": "old = LoopWork.check\ndef new(self, record, step, stop):\n"
    "    found = old(self, record, step, stop)\n    return found if step.lap == 0 else die()\nLoopWork.check = new",
}


@pytest.mark.parametrize("point", KILLS)
def test_killed_anywhere_nothing_runs_twice(home: Supervised, point: str) -> None:
    pid = home.start_changed(DIE + WORK + KILLS[point])
    check = "echo x >> checks; test -e laps"
    task = steps({"record": "started"}, *LAP)
    loop_id = home.ok("loop", "verify", "--lane", "fake", "--bg", "--check", check, "--", task).strip()
    until(lambda: pid not in home.daemons(), f"it is killed {point}")
    done = home.osrc("loop", "wait", loop_id)
    assert (done.returncode, done.stdout) == (0, b"success\n"), shown(done)
    assert (home.work / "laps").read_text() == "x\n"
    assert len((home.work / "started").read_text().splitlines()) == 1
    assert (home.work / "checks").read_text() == "x\nx\n"
    assert len(home.records()) == 1
