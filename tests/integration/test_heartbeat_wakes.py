"""The heartbeat with real processes: a captain that sleeps, a supervisor that is killed, a notifier that hangs."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from fakes.lanes import steps
from fakes.sessions import Sessions
from fakes.supervised import Supervised, until

CAPTAIN = Path(__file__).parents[1] / "fakes" / "captain.py"


def lines(path: Path) -> list[dict[str, Any]]:
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def test_a_captain_that_sleeps_between_events_steers_a_session_from_start_to_finish(home: Supervised) -> None:
    sessions = Sessions(home)
    folder = home.scratch / "captain"
    folder.mkdir()
    (folder / "phase").write_text("first question")
    words = [sys.executable, str(CAPTAIN), str(folder)]
    home.environ["OSRC_HEARTBEAT_WAKE"] = f'exec {shlex.join(words)} "$1"'
    home.environ["OSRC_HEARTBEAT_WAKE_TIMEOUT"] = "120"
    sessions.start("--name", "fix", "ask rm -rf build")

    until(lambda: (folder / "phase").read_text() == "home", "the captain brought it home")
    until(lambda: any(one["now"] == "home" for one in lines(folder / "log")), "it wrote its log")
    seen = lines(folder / "log")
    assert [one["trouble"] for one in seen if one["trouble"]] == [], seen
    assert [one["was"] for one in seen if one["was"] != one["now"]] == [
        "first question",
        "first rest",
        "second question",
        "second rest",
    ]
    assert len({one["push_id"] for one in seen}) == len(seen), "no push came twice"
    asked = [one for one in seen if one["alarm"] == "needs-answer"]
    assert len(asked) == 2
    assert all("fix" in one["summary"] and one["summary"] == one["task_summary"] for one in asked)
    assert sessions.given() == ["ask rm -rf build", "ask make install"]
    assert [fact["op"] for fact in home.facts("session.given")] == ["answer", "send", "answer"]
    assert home.facts("alarm.raised", job=asked[0]["session_id"]), "the session's own events show it"


KILL = "import os, signal; from outsourcerer.actors import {module}"
BEFORE = KILL.format(module="notifier") + "; notifier.Notifier.push = lambda *_: os.kill(os.getpid(), signal.SIGKILL)"
AFTER = KILL.format(module="pushes") + "; pushes.Pushes.note = lambda *_: os.kill(os.getpid(), signal.SIGKILL)"


def test_killed_around_a_push_and_with_a_notifier_that_hangs_each_thing_is_told_once(home: Supervised) -> None:
    log = home.scratch / "log"
    home.environ |= {"OSRC_HEARTBEAT_WAKE": f"cat >> {log}", "OSRC_HEARTBEAT_WAKE_DIGEST": "0"}
    told: list[str] = []

    def known(job_id: str) -> bool:
        return any(fact["alarm_id"].startswith(f"job.{job_id}.") for fact in home.facts("alarm.told"))

    for change in (BEFORE, AFTER):
        pid = home.start_changed(change)
        told.append(home.bg({"exit": 3}))
        until(lambda pid=pid: pid not in home.daemons(), "the supervisor was killed at the push")
        assert not known(told[-1])
        if change is BEFORE:
            assert told[-1] not in [one["job_id"] for one in lines(log)]
        home.ok("heartbeat", "start", "--json")  # whatever command needs a supervisor next
        until(lambda: known(told[-1]), "the next one knows what became of the push")
        home.ok("supervisor", "stop")
    assert [one["job_id"] for one in lines(log)] == told

    # One that hangs delays nobody, is ended in its time, and what comes behind it is told.
    pids = home.scratch / "pids"
    hangs = f"echo $$ >> {pids}; exec sleep 600"
    started = home.bg({"exit": 3}, OSRC_HEARTBEAT_WAKE=hangs, OSRC_HEARTBEAT_WAKE_TIMEOUT="3")
    until(pids.exists, "the notifier hangs")
    assert home.run({"end": "meanwhile"})[0]["ended"]
    until(lambda: known(started), "the notifier was ended")
    [sink] = [fact["sinks"][0] for fact in home.facts("alarm.told") if started in fact["alarm_id"]]
    assert (sink["sink"], sink["result"]) == ("command", "late")
    last = home.bg({"exit": 3}, OSRC_HEARTBEAT_WAKE=f"cat >> {log}")
    until(lambda: known(last), "what came behind it was told")
    assert [one["job_id"] for one in lines(log)] == [*told, last]


def test_work_that_nobody_watches_is_named_and_looking_clears_it(home: Supervised) -> None:
    done = home.osrc("bg", "--lane", "fake", "--label", "nightly", "--", steps({"sleep": 600}))
    assert b"ASYNC SUPERVISION" in done.stderr
    job_id = done.stdout.decode().strip()
    home.running(job_id)
    armed = home.osrc("bg", "--lane", "fake", "--dry-run", "--", "x", OSRC_HEARTBEAT_WAKE="true")
    assert b"ASYNC SUPERVISION" not in armed.stderr
    said = until(
        lambda: b"unwatched: 1 job runs" in (done := home.osrc("mode", OSRC_UNWATCHED_AFTER="0.5")).stderr and done,
        "it is named",
    )
    assert said.returncode == home.osrc("-q", "mode", OSRC_UNWATCHED_AFTER="0.5").returncode
    assert job_id in said.stderr.decode()
    assert b"nightly" in said.stderr
    assert home.osrc("-q", "mode", OSRC_UNWATCHED_AFTER="0.5").stderr == b""
    assert b"unwatched" not in home.osrc("mode", OSRC_UNWATCHED_AFTER="0").stderr
    for look in (["rundown"], ["status", job_id], ["logs", job_id]):
        before = time.time()
        home.ok(*look)
        until(
            lambda before=before: json.loads((home.root / "unwatched.json").read_bytes())["jobs"][0]["since"] >= before,
            f"{look} looked",
        )
        time.sleep(0.6)  # a look that follows at once is the same look
    picture = json.loads(home.ok("bearings", "--json"))
    assert [item["id"] for item in picture["underway"]] == [job_id]
    home.kill_supervisor()
    assert b"unwatched" not in home.osrc("mode", OSRC_UNWATCHED_AFTER="0.001").stderr, "of now nobody knows"
    assert json.loads(home.ok("rundown", "--json"))["underway"][0]["id"] == job_id
    assert "Underway (1)" in home.ok("bearings")
    state = json.loads(home.ok("heartbeat", "status", "--json"))
    assert (state["state"], state["sinks"]) == ("no supervisor", [])
    home.ok("cancel", job_id)

    # Blocked stays until somebody knows; stopped it wakes nobody, and both are said.
    blocked = home.run({"mark": "BLOCKED", "text": "no key"}, {"end": "no key"})[0]
    assert blocked["state"] == "blocked"

    def alarms() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(home.ok("heartbeat", "--json"))["alarms"]
        return [one for one in found if one["job_id"] == blocked["job_id"]]

    [alarm] = until(alarms, "it is an open alarm")
    assert (alarm["state"], alarm["pushes"], alarm["acknowledged_at"]) == ("blocked", 0, None)
    assert home.osrc("heartbeat", "ack", "no-such-thing").returncode == 1
    assert home.osrc("heartbeat", "ack", blocked["job_id"]).returncode == 0
    assert alarms()[0]["acknowledged_at"] is not None
    assert json.loads(home.ok("heartbeat", "stop", "--json"))["state"] == "stopped"
    assert "stopped" in home.ok("heartbeat")
    assert home.osrc("heartbeat", "start", "--sink", "/no/such/fifo").returncode == 64
    refused = home.osrc("heartbeat", "start", "--webhook", "http://example.com/")
    assert (refused.returncode, b"https" in refused.stderr) == (1, True)
    shown = json.loads(home.ok("heartbeat", "start", "--json", "--wake", "true", "--no-digest"))
    assert (shown["state"], shown["digest"], [sink["target"] for sink in shown["sinks"]]) == (
        "watching",
        False,
        ["true"],
    )
    home.ok("heartbeat", "stop")
    assert json.loads(home.ok("fleet", "supervise", "--json"))["state"] == "watching"
    assert "work       : " in home.ok("brief")
