"""The front end as a real process that follows jobs: streams, exit codes, signals, supervisors that go away."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fakes.fake_gateway import FakeGateway, job, job_id
from fakes.gateway_jobs import ENDED, finish, when_asked
from fakes.osrc_process import environment, osrc, parsed, shown, start, until

FIRST, SECOND = job_id(1), job_id(2)


# --- run ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "recorded", "code"),
    [
        ("done", 0, 0),
        ("done?", 2, 2),
        ("blocked", 3, 3),
        ("failed", 1, 1),
        ("timeout", 124, 124),
        ("wedged", None, 125),
    ],
)
def test_run_ends_with_the_answer_and_the_code(
    state: str, recorded: int | None, code: int, gateway: FakeGateway
) -> None:
    when_asked(gateway, "follow.jobs", lambda: finish(gateway, FIRST, state=state, exit=recorded, reason="because"))
    done = osrc(gateway.home, "run", "x")
    assert done.returncode == code, shown(done)
    assert done.stdout == b"the answer\n"
    said = done.stderr.decode()
    assert f"[{state}]" in said
    assert "because" in said
    assert f"{FIRST} running" in said


def test_run_json(gateway: FakeGateway) -> None:
    when_asked(gateway, "follow.jobs", lambda: finish(gateway, FIRST, "no newline"))
    done = osrc(gateway.home, "run", "--json", "-q", "x")
    value = parsed(done)
    assert (value["job_id"], value["state"], value["result"]) == (FIRST, "done", "no newline")
    assert done.stderr == b""


def test_run_without_a_message_says_so(gateway: FakeGateway) -> None:
    when_asked(gateway, "follow.jobs", lambda: finish(gateway, FIRST, " \n", state="failed", exit=1))
    done = osrc(gateway.home, "run", "x")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"no final message" in done.stderr


def test_run_outlives_its_supervisor(gateway: FakeGateway) -> None:
    process = start(gateway.home, "run", "x")
    try:
        until(lambda: "follow.jobs" in gateway.kinds())
        for count in (2, 3):
            gateway.cut()
            until(lambda count=count: gateway.kinds().count("follow.jobs") == count)
        finish(gateway, FIRST)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, b"the answer\n"), err
    assert gateway.kinds().count("job.submit") == 1


def test_ctrl_c_cancels_the_job(gateway: FakeGateway) -> None:
    gateway.on_cancel = lambda body: gateway.change(FIRST, state="canceled", exit=130, ended=1001.0)
    process = start(gateway.home, "run", "x")
    until(lambda: "follow.jobs" in gateway.kinds())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b""), err
    assert b"Traceback" not in err
    cancels = [body for body in gateway.requests if body["kind"] == "job.cancel"]
    assert [body["at_once"] for body in cancels] == [False]


def test_ctrl_c_twice_ends_it_at_once(gateway: FakeGateway) -> None:
    def on_cancel(body: dict) -> None:
        if body["at_once"]:
            gateway.change(FIRST, state="canceled", exit=130, ended=1001.0)

    gateway.on_cancel = on_cancel
    process = start(gateway.home, "run", "x")
    until(lambda: "follow.jobs" in gateway.kinds())
    process.send_signal(signal.SIGINT)
    until(lambda: gateway.kinds().count("follow.jobs") == 2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert [body["at_once"] for body in gateway.requests if body["kind"] == "job.cancel"] == [False, True]


def test_term_cancels_too(gateway: FakeGateway) -> None:
    gateway.on_cancel = lambda body: gateway.change(FIRST, state="canceled", exit=130, ended=1001.0)
    process = start(gateway.home, "run", "x")
    until(lambda: "follow.jobs" in gateway.kinds())
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143, err


def test_a_lost_terminal_leaves_the_job_running(gateway: FakeGateway) -> None:
    process = start(gateway.home, "run", "x")
    until(lambda: "follow.jobs" in gateway.kinds())
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 129, err
    assert "job.cancel" not in gateway.kinds()
    assert f"osrc watch {FIRST}" in err.decode().splitlines()[-1]


def test_the_live_line_is_drawn_on_a_terminal_only(gateway: FakeGateway) -> None:
    leader, follower = pty.openpty()
    script = "import sys; sys.argv=['osrc','run','x']; from outsourcerer.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=follower,
        env=environment(gateway.home, TERM="xterm"),
        start_new_session=True,
    )
    os.close(follower)
    seen = b""
    deadline = time.monotonic() + 30
    ended = False
    while time.monotonic() < deadline:
        if not select.select([leader], [], [], 0.1)[0]:
            continue
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
        if not ended and b"PROGRESS 1/2" in seen:
            ended = True
            finish(gateway, FIRST)
    os.close(leader)
    assert process.communicate(timeout=60)[0] == b"the answer\n"
    assert b"\r\x1b[K" in seen
    assert b"R3 W1 B2" in seen
    assert "0:42 · running".encode() in seen
    assert b"[done]" in seen


# --- watch, wait, result, logs, cancel ------------------------------------------------------------------------------


def test_wait_for_one_and_for_the_first(gateway: FakeGateway) -> None:
    gateway.jobs.update({FIRST: job(FIRST), SECOND: job(SECOND)})
    when_asked(gateway, "follow.jobs", lambda: gateway.change(SECOND, state="blocked", exit=3, ended=1.0))
    done = osrc(gateway.home, "wait", "--any", "--json", FIRST, SECOND)
    assert done.returncode == 3, shown(done)
    assert [one["state"] for one in parsed(done)["jobs"]] == ["running", "blocked"]


def test_a_wait_that_runs_out_is_124(gateway: FakeGateway) -> None:
    gateway.jobs[FIRST] = job(FIRST)
    for bound in ("0", "0.3"):
        done = osrc(gateway.home, "wait", FIRST, "--for", bound)
        assert done.returncode == 124, shown(done)
        assert b"running" in done.stdout
    assert gateway.kinds().count("follow.jobs") == 1


def test_wait_on_what_has_ended_asks_nobody_to_follow(gateway: FakeGateway) -> None:
    gateway.jobs.update({FIRST: job(FIRST, **ENDED), SECOND: job(SECOND, state="failed", exit=1, ended=2.0)})
    assert osrc(gateway.home, "wait", FIRST).returncode == 0
    assert osrc(gateway.home, "wait", FIRST, SECOND).returncode == 1
    assert "follow.jobs" not in gateway.kinds()


def test_ctrl_c_in_wait_leaves_the_job_alone(gateway: FakeGateway) -> None:
    gateway.jobs[FIRST] = job(FIRST)
    process = start(gateway.home, "wait", FIRST)
    until(lambda: "follow.jobs" in gateway.kinds())
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert "job.cancel" not in gateway.kinds()


def test_watch_tells_each_change_once(gateway: FakeGateway) -> None:
    gateway.jobs[FIRST] = job(FIRST)
    process = start(gateway.home, "watch", FIRST)
    until(lambda: "follow.jobs" in gateway.kinds())
    gateway.change(FIRST, state="stalled?")
    assert b"running" in process.stdout.readline()
    assert b"stalled?" in process.stdout.readline()
    gateway.change(FIRST, **ENDED)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert len(out.splitlines()) == 1


def test_watch_json_is_one_object_a_line(gateway: FakeGateway) -> None:
    gateway.jobs[FIRST] = job(FIRST)
    when_asked(gateway, "follow.jobs", lambda: gateway.change(FIRST, **ENDED))
    done = osrc(gateway.home, "watch", "--json", FIRST)
    states = [json.loads(line)["state"] for line in done.stdout.splitlines()]
    assert states == ["running", "done"]
    assert osrc(gateway.home, "watch", FIRST, "--for", "0").returncode == 0


def test_result_alone(gateway: FakeGateway) -> None:
    gateway.jobs[FIRST] = job(FIRST)
    early = osrc(gateway.home, "result", FIRST)
    assert (early.returncode, early.stdout) == (1, b"")
    assert b"is running" in early.stderr
    finish(gateway, FIRST, "one\n\x1b[31mtwo")
    done = osrc(gateway.home, "result", FIRST)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"one\n\x1b[31mtwo\n", b"")
    assert parsed(osrc(gateway.home, "result", "--json", FIRST))["result"] == "one\n\x1b[31mtwo"
    finish(gateway, FIRST, "", state="failed", exit=1, reason="it said nothing")
    empty = osrc(gateway.home, "result", FIRST)
    assert (empty.returncode, empty.stdout) == (1, b"")
    assert b"it said nothing" in empty.stderr


def test_logs_from_the_end_without_control_sequences(gateway: FakeGateway, tmp_path: Path) -> None:
    log = tmp_path / "out.log"
    log.write_bytes(b"".join(b"line %d\n" % n for n in range(1000)) + b"\x1b[31mred\xff\x1b[0m\n")
    gateway.jobs[FIRST] = job(FIRST, log_path=str(log))
    done = osrc(gateway.home, "logs", FIRST, "-n", "2")
    assert done.stdout.decode() == "line 999\nred\ufffd\n", shown(done)
    assert osrc(gateway.home, "logs", FIRST, "-n1", "--raw").stdout == b"\x1b[31mred\xff\x1b[0m\n"
    assert len(osrc(gateway.home, "logs", FIRST).stdout.splitlines()) == 60
    assert parsed(osrc(gateway.home, "logs", "--json", "-n", "2", FIRST))["lines"][0] == "line 999"


def test_logs_that_are_not_there(gateway: FakeGateway, tmp_path: Path) -> None:
    gateway.jobs[FIRST] = job(FIRST, state="launching", log_path=str(tmp_path / "absent"))
    early = osrc(gateway.home, "logs", FIRST)
    assert (early.returncode, early.stdout) == (0, b"")
    assert b"still starting up" in early.stderr
    gateway.change(FIRST, **ENDED)
    gone = osrc(gateway.home, "logs", FIRST)
    assert gone.returncode == 1
    assert b"is gone" in gone.stderr


def test_logs_follow_to_the_end(gateway: FakeGateway, tmp_path: Path) -> None:
    log = tmp_path / "out.log"
    log.write_bytes(b"first\n")
    gateway.jobs[FIRST] = job(FIRST, log_path=str(log))
    process = start(gateway.home, "logs", "-f", FIRST)
    assert process.stdout.readline() == b"first\n"
    with log.open("ab") as file:
        file.write(b"second\n")
    assert process.stdout.readline() == b"second\n"
    gateway.change(FIRST, **ENDED)
    assert process.wait(timeout=60) == 0
    process.communicate()


def test_cancel_is_idempotent(gateway: FakeGateway) -> None:
    gateway.jobs.update({FIRST: job(FIRST), SECOND: job(SECOND, **ENDED)})
    gateway.on_cancel = lambda body: gateway.change(FIRST, state="canceled", exit=130, ended=1.0)
    done = osrc(gateway.home, "cancel", FIRST, SECOND)
    assert done.returncode == 0, shown(done)
    assert done.stdout.decode().splitlines() == [f"{FIRST} canceled", f"{SECOND} had ended: done"]
    again = osrc(gateway.home, "cancel", FIRST, "--now")
    assert (again.returncode, again.stdout) == (0, f"{FIRST} canceled\n".encode())
    assert gateway.kinds().count("job.cancel") == 1


def test_events_resume_and_never_show_what_signs_markers(gateway: FakeGateway) -> None:
    record = {"lane": "fake", "marker_id": "SECRET-MARK", "label": None}
    gateway.facts = [
        {"seq": 1, "at": 1.0, "fact": {"kind": "job.accepted", "job_id": FIRST, "record": record}},
        {"seq": 2, "at": 2.0, "fact": {"kind": "job.ended", "job_id": FIRST, "state": "done", "exit": 0}},
    ]
    done = osrc(gateway.home, "events", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["schema_version"], row["seq"], row["type"]) for row in rows] == [
        ("1", 1, "job.accepted"),
        ("1", 2, "job.ended"),
    ]
    assert b"SECRET-MARK" not in done.stdout + osrc(gateway.home, "events").stdout
    assert len(osrc(gateway.home, "events", "--since", "1").stdout.splitlines()) == 1


def test_explain_and_classify(gateway: FakeGateway, tmp_path: Path) -> None:
    folder = tmp_path / "j"
    folder.mkdir()
    (folder / "err.log").write_bytes(b"\x1b[31mboom\x1b[0m\n" * 3)
    (folder / "events.jsonl").write_text('{"kind":"denied","name":"Bash","excerpt":"rm"}\ngarbage\n[1]\n')
    gateway.jobs[FIRST] = job(
        FIRST, state="permission-blocked", exit=3, ended=1.0, outcome="permission", log_path=f"{folder}/out.log"
    )
    text = osrc(gateway.home, "explain", FIRST).stdout.decode()
    assert "Bash was refused: rm" in text
    assert "boom" in text
    assert "\x1b" not in text
    assert "(not recorded)" in text
    assert osrc(gateway.home, "classify", FIRST).stdout == b"RETRY-DIFFERENT-LANE\twedge:permission-blocked\n"
    nothing = osrc(gateway.home, "classify", "nosuch")
    assert (nothing.returncode, nothing.stdout) == (0, b"REAL-FAIL\tno-job-dir\n")
    finish(gateway, FIRST, state="done?", exit=2)
    assert parsed(osrc(gateway.home, "classify", "--json", FIRST))["label"] == "REUSE-OUTPUT"
