"""SIGKILL and SIGSTOP for the delegate, its shim, both, and the process that forks shims: the true state, soon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.launches import read_spawn, write_spawn
from fakes.osrc_process import shown
from fakes.supervised import Supervised, alive, kill, pid_in, until

TICK = {"OSRC_POLL": "0.2"}
GRANDCHILD_S = 600


def started(home: Supervised, *actions: dict[str, object], **more: str) -> tuple[str, int, int]:
    """A running job with its delegate's and its shim's pid."""
    job_id = home.bg(*actions, {"sleep": GRANDCHILD_S}, **TICK, **more)
    record = home.running(job_id)
    return job_id, record["delegate"]["pid"], record["shim"]["pid"]


def test_the_delegate_is_killed(home: Supervised) -> None:
    job_id, delegate, _ = started(home, {"say": "so far"})
    kill(delegate)
    record = home.ended(job_id)
    assert (record["state"], record["exit"]) == ("interrupted", 130)
    assert record["exit_status"]["signal"] == signal.SIGKILL
    home.nothing_left()


def test_the_shim_is_killed_and_the_delegate_goes_on_to_its_end(home: Supervised, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job_id = home.bg({"say": "hi"}, {"wait_for": str(go)}, {"mark": "DONE", "text": "ok"}, {"end": "all of it"}, **TICK)
    record = home.running(job_id)
    kill(record["shim"]["pid"])
    until(lambda: not alive(record["shim"]["pid"]), "the shim is gone")
    go.touch()
    ended = home.ended(job_id)
    assert ended["state"] == "done"
    assert ended["exit_status"]["lost"] is True
    assert "lost" in ended["note"]
    assert home.result(job_id) == "all of it"


def test_the_shim_is_killed_and_what_the_delegate_leaves_is_ended(home: Supervised, tmp_path: Path) -> None:
    pids = [tmp_path / name for name in ("child", "session", "daemon")]
    go = tmp_path / "go"
    job_id = home.bg(
        {"grandchild": GRANDCHILD_S, "pid_file": str(pids[0])},
        {"grandchild": GRANDCHILD_S, "setsid": True, "pid_file": str(pids[1])},
        {"daemon": GRANDCHILD_S, "pid_file": str(pids[2])},
        {"wait_for": str(go)},
        {"end": "left them"},
        **TICK,
    )
    record = home.running(job_id)
    left = [pid_in(path) for path in pids]
    kill(record["shim"]["pid"])
    go.touch()
    assert home.ended(job_id)["state"] == "done?"
    until(lambda: not any(map(alive, left)), "what it left was ended")
    home.nothing_left()


def test_delegate_and_shim_are_killed(home: Supervised, tmp_path: Path) -> None:
    job_id, delegate, shim = started(home, {"grandchild": GRANDCHILD_S, "pid_file": str(tmp_path / "child")})
    child = pid_in(tmp_path / "child")
    kill(shim)
    kill(delegate)
    record = home.ended(job_id)
    assert (record["state"], record["exit_status"]["lost"]) == ("interrupted", True)
    until(lambda: not alive(child), "what the delegate started was ended")
    home.nothing_left()


def test_all_of_it_is_killed_and_the_next_supervisor_sees_that(home: Supervised) -> None:
    job_id, delegate, shim = started(home)
    home.kill_supervisor()
    kill(shim)
    kill(delegate)
    seen = json.loads(home.ok("status", job_id, "--json"))
    assert (seen["state"], seen["supervision"], seen["reason"]) == ("running", "none", None), "nobody has judged it"
    home.ok("supervisor", "restart")
    assert home.ended(job_id)["state"] == "interrupted"


def test_who_waits_for_a_job_whose_processes_are_all_gone_gets_the_verdict_on_what_it_said(home: Supervised) -> None:
    job_id, delegate, shim = started(home, {"end": "all of it"})
    until(lambda: b"all of it" in (home.folder(job_id) / "out.log").read_bytes(), "it answered")
    home.kill_supervisor()
    kill(shim)
    kill(delegate)
    done = home.osrc("result", job_id)
    assert (done.returncode, f"osrc wait {job_id}".encode() in done.stderr) == (1, True), shown(done)
    assert "verdict-due" in home.ok("classify", job_id)
    assert f"osrc wait {job_id}" in home.ok("status", job_id)
    assert "all of it" in home.ok("logs", "-f", job_id), "nobody is left who could write more"
    assert home.supervisor() is None or not home.daemons(), "looking starts nothing"
    assert home.osrc("wait", job_id).returncode == 2
    assert home.record(job_id)["state"] == "done?"
    assert home.result(job_id).strip() == "all of it"


def test_the_forking_process_is_killed(home: Supervised) -> None:
    first, delegate, _ = started(home)
    (zygote,) = home.zygotes()
    kill(zygote)
    second = home.bg({"say": "hi"}, {"end": "answer"})
    assert home.ended(second)["state"] == "done?"
    assert alive(delegate)
    assert home.state(first) == "running"
    home.ok("cancel", "--now", first)
    assert home.ended(first)["state"] == "canceled"


def test_the_forking_process_is_stopped(home: Supervised, tmp_path: Path) -> None:
    first = home.bg({"end": "one"})
    home.ended(first)
    (zygote,) = home.zygotes()
    kill(zygote, signal.SIGSTOP)
    second = home.bg({"record": str(tmp_path / "started")}, {"end": "two"})
    assert home.ended(second)["state"] == "done?"
    assert len((tmp_path / "started").read_text().splitlines()) == 1


def test_a_stopped_delegate_is_shown_and_goes_on(home: Supervised) -> None:
    job_id, delegate, _ = started(home)
    kill(delegate, signal.SIGSTOP)
    until(lambda: home.state(job_id) == "stalled?", "it is shown as stalled")
    assert "stopped" in home.record(job_id)["reason"]
    kill(delegate, signal.SIGCONT)
    until(lambda: home.state(job_id) == "running", "it is shown as running again")
    home.ok("cancel", "--now", job_id)


def test_a_stopped_delegate_does_not_stay_for_ever(home: Supervised) -> None:
    job_id, delegate, _ = started(home, OSRC_STALL_WARN="0.5", OSRC_STALL_KILL="1.5")
    kill(delegate, signal.SIGSTOP)
    record = home.ended(job_id)
    assert (record["state"], record["exit"]) == ("wedged", 125)
    home.nothing_left()


def test_a_stopped_delegate_can_be_canceled(home: Supervised) -> None:
    job_id, delegate, _ = started(home)
    kill(delegate, signal.SIGSTOP)
    home.ok("cancel", job_id)
    assert home.ended(job_id)["state"] == "canceled"
    home.nothing_left()


def test_a_stopped_shim_hides_no_end(home: Supervised) -> None:
    job_id, delegate, shim = started(home)
    kill(shim, signal.SIGSTOP)
    kill(delegate)
    record = home.ended(job_id)
    assert record["state"] == "interrupted"
    assert record["exit_status"]["signal"] == signal.SIGKILL, "the shim was let go on and told the truth"
    home.nothing_left()


def test_a_stopped_shim_and_a_finished_delegate(home: Supervised, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job_id = home.bg({"wait_for": str(go)}, {"mark": "DONE"}, {"end": "the end"}, **TICK)
    kill(home.running(job_id)["shim"]["pid"], signal.SIGSTOP)
    go.touch()
    record = home.ended(job_id)
    assert (record["state"], record["exit_status"]["code"]) == ("done", 0)


@pytest.fixture
def stranger(tmp_path: Path):
    """A process of somebody else's."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], start_new_session=True, env={}
    )
    yield process
    process.kill()
    process.wait()


def test_a_recycled_pid_is_a_stranger_that_nobody_touches(home: Supervised, stranger: subprocess.Popen[bytes]) -> None:
    """The records name a pid that belongs to another process by now: another start time tells."""
    job_id, delegate, shim = started(home)
    home.kill_supervisor()
    kill(shim)
    kill(delegate)
    until(lambda: not alive(delegate), "the delegate is gone")
    spawn = read_spawn(home.folder(job_id), 1)
    for name in ("shim", "delegate"):
        spawn[name]["pid"] = stranger.pid
    write_spawn(home.folder(job_id), 1, spawn)
    home.ok("supervisor", "restart")
    record = home.ended(job_id)
    assert (record["state"], record["exit_status"]["lost"]) == ("interrupted", True)
    assert stranger.poll() is None


def test_a_recycled_pid_is_not_canceled(home: Supervised, stranger: subprocess.Popen[bytes]) -> None:
    job_id, delegate, shim = started(home)
    home.kill_supervisor()
    spawn = read_spawn(home.folder(job_id), 1)
    for name in ("shim", "delegate"):
        spawn[name] = {**spawn[name], "pid": stranger.pid, "boot_id": "another boot"}
    write_spawn(home.folder(job_id), 1, spawn)
    home.ok("supervisor", "restart")
    home.osrc("cancel", "--now", job_id)
    home.ended(job_id)
    assert stranger.poll() is None
    kill(shim)
    kill(delegate)


def test_a_shim_that_dies_before_the_gate_opens_costs_nothing(home: Supervised, tmp_path: Path) -> None:
    """Its claim and the launch file are there, its spawn record is not: no prompt was sent, the next attempt runs."""
    blocker = home.bg({"sleep": GRANDCHILD_S}, OSRC_MAX_JOBS="1")
    home.running(blocker)
    job_id = home.bg({"record": str(tmp_path / "started")}, {"end": "ran"})
    home.kill_supervisor()
    dead = subprocess.Popen(["true"])
    dead.wait()
    claim = {
        "by": "shim",
        "pid": dead.pid,
        "started": 1,
        "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
    }
    (home.folder(job_id) / "claim.1").write_text(json.dumps(claim))
    kill(home.record(blocker)["shim"]["pid"])
    os.kill(home.record(blocker)["delegate"]["pid"], signal.SIGKILL)
    home.ok("supervisor", "restart")
    assert home.ended(job_id)["state"] == "done?"
    assert home.result(job_id) == "ran"
    assert len((tmp_path / "started").read_text().splitlines()) == 1
