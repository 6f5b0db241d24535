"""Loops whose laps are turns of one live session: to green, through kills of supervisor and holder, never doubled."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest
from fakes.osrc_process import shown
from fakes.sessions import Sessions
from fakes.supervised import Supervised, until

COUNT = 'n=$(cat laps 2>/dev/null | wc -l); echo "only $n of 2"; test $n -ge 2'
LAP = "echo x >> laps"
WAITS = "echo x >> began; while ! test -e go$(wc -l < began); do sleep 0.02; done; echo x >> laps"
"""Its n-th turn waits for the file go<n>."""


@pytest.fixture
def sessions(home: Supervised) -> Sessions:
    return Sessions(home)


def last(sessions: Sessions) -> dict[str, Any]:
    return json.loads(sessions.home.osrc("loop", "status", "--json").stdout)


def lines(sessions: Sessions, name: str) -> int:
    path = sessions.home.work / name
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_one_session_from_lap_to_lap(sessions: Sessions) -> None:
    words = ("loop", "verify", "--session", "--lane", "claude", "--label", "live", "--check", COUNT, "say the task")
    done = sessions.home.osrc(*words, FAKE_EACH_TURN=LAP)
    assert (done.returncode, done.stdout) == (0, b"success\n"), shown(done)
    assert b"osrc session read" in done.stderr
    found = last(sessions)
    seen = [(one["role"], one["lap"], one["state"]) for one in found["steps"]]
    assert seen == [("check", 0, "failed"), ("build", 1, "done?"), ("check", 1, "failed"), ("build", 2, "done?"),
                    ("check", 2, "passed")]  # fmt: skip
    turns = [one for one in found["steps"] if one["role"] == "build"]
    one = turns[0]["session_id"]
    assert {turn["session_id"] for turn in turns} == {one}
    assert [turn["job_id"] for turn in turns] == [None, None]
    first, second = sessions.given()
    assert first.startswith("say the task")
    assert ("say the task" in second, "only 1 of 2" in second) == (False, True)
    record = sessions.record(one)
    assert (record["state"], record["mode"], record["turns"]) == ("exited", "edits", 2)
    assert sessions.home.records() == []
    rows = [fact["turn"] for fact in sessions.home.facts("session.spent")]
    assert rows == [1, 2]
    sessions.home.nothing_left()

    refused = sessions.home.osrc("loop", "verify", "--session", "--worktree", "--lane", "claude", "--check", "x", "t")
    assert (refused.returncode, b"--cwd DIR" in refused.stderr) == (64, True), shown(refused)
    none = sessions.home.osrc("loop", "verify", "--session", "--lane", "fake", "--check", "x", "t")
    assert (none.returncode, b"has no sessions" in none.stderr) == (1, True), shown(none)


def test_killed_supervisor_and_holder_and_a_resume(sessions: Sessions) -> None:
    home = sessions.home
    words = ("loop", "verify", "--session", "--bg", "--max", "1", "--stall", "0", "--lane", "claude", "--check", COUNT)
    loop_id = home.ok(*words, "say the task", FAKE_EACH_TURN=WAITS).strip()
    until(lambda: lines(sessions, "began") == 1, "the turn runs")
    home.kill_supervisor()
    waiting = home.start("loop", "wait", loop_id)
    one = until(lambda: last(sessions)["steps"][-1]["session_id"], "it is known")
    until(lambda: home.daemons() and sessions.record(one).get("holder"), "another supervisor knows who holds it")
    # Its holder dies in the middle: the same lap is gone on with in its conversation, and is not told its task twice.
    os.kill(sessions.record(one)["holder"]["pid"], signal.SIGKILL)
    until(lambda: lines(sessions, "began") == 2, "the turn is taken up")
    (home.work / "go2").touch()
    assert waiting.wait(240) == 2
    found = last(sessions)
    seen = [(step["role"], step["lap"], step["state"]) for step in found["steps"]]
    assert seen == [("check", 0, "failed"), ("build", 1, "interrupted"), ("build", 1, "done?"), ("check", 1, "failed")]
    assert (found["state"], sessions.record(one)["state"]) == ("max_turns", "exited")
    assert len(sessions.given()) == lines(sessions, "began") == 2
    assert sessions.given()[1].startswith("You were interrupted.")

    (home.work / "go3").touch()
    done = home.osrc("loop", "resume", loop_id, "--max", "2", FAKE_EACH_TURN=WAITS)
    assert (done.returncode, done.stdout) == (0, b"success\n"), shown(done)
    assert {step["session_id"] for step in last(sessions)["steps"] if step["role"] == "build"} == {one}
    home.nothing_left()


def test_bounds_and_a_cancel_end_the_turn(sessions: Sessions) -> None:
    home = sessions.home
    words = ("loop", "verify", "--session", "--lane", "claude", "--check", "false")
    done = home.osrc(*words, "--max-minutes", "0.05", "work on")
    assert (done.returncode, done.stdout) == (2, b"max_time\n"), shown(done)
    assert last(sessions)["steps"][-1]["state"] in ("timeout", "failed")  # or it was over with the first check

    for ends in (("cancel",), ("session", "stop")):
        before = len(sessions.given())
        loop_id = home.ok(*words, "--bg", "work on").strip()
        until(lambda before=before: len(sessions.given()) > before, "the turn runs")
        home.ok(*ends, loop_id if ends == ("cancel",) else last(sessions)["steps"][-1]["session_id"])
        assert home.osrc("wait", loop_id).returncode == 130
    home.nothing_left()


DIE = (
    "import os, signal\nfrom outsourcerer.actors.loop_sessions import LoopSessions\n"
    "def dying(old):\n    def new(*a, **k):\n        old(*a, **k)\n        os.kill(os.getpid(), signal.SIGKILL)\n    return new\n"
)
KILLS = {
    "as its session was started": "LoopSessions.up = dying(LoopSessions.up)",
    "as its prompt was sent": "LoopSessions.give = dying(LoopSessions.give)",
}


@pytest.mark.parametrize("point", KILLS)
def test_killed_anywhere_nothing_is_sent_twice(sessions: Sessions, point: str) -> None:
    home = sessions.home
    pid = home.start_changed(DIE + KILLS[point])
    words = ("loop", "verify", "--session", "--bg", "--lane", "claude", "--check", "test -e laps", "say it")
    loop_id = home.ok(*words, FAKE_EACH_TURN=LAP).strip()
    until(lambda: pid not in home.daemons(), f"it is killed {point}")
    done = home.osrc("loop", "wait", loop_id)
    assert (done.returncode, done.stdout) == (0, b"success\n"), shown(done)
    assert (len(sessions.given()), lines(sessions, "laps")) == (1, 1)
    assert len(home.facts("session.accepted")) == 1
    home.nothing_left()
