"""The front end as a real process against a scripted supervisor: streams, exit codes, signals, lost supervisors."""

from __future__ import annotations

import base64
import json
import os
import pty
import random
import select
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fakes.fake_gateway import PLAN, FakeGateway, job, job_id
from fakes.osrc_process import environment, osrc, parsed, shown, start, until
from fakes.secret_corpus import SECRETS
from outsourcerer.cli import client
from outsourcerer.cli.main import run

FIRST, SECOND = job_id(1), job_id(2)
ENDED = {"state": "done", "exit": 0, "ended": 1042.0}


@pytest.fixture
def gateway(tmp_path: Path):
    with FakeGateway(tmp_path / "home") as made:
        yield made


def finish(gateway: FakeGateway, identifier: str, text: str = "the answer\n", **changes: object) -> None:
    """End a job with a final message."""
    place = gateway.home / f"{identifier}.txt"
    place.write_text(text)
    gateway.change(identifier, **{**ENDED, "result_path": str(place), **changes})


def when_asked(gateway: FakeGateway, kind: str, action) -> threading.Thread:
    """Do something once a command of this kind has come in."""

    def work() -> None:
        until(lambda: kind in gateway.kinds())
        action()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


# --- status ---------------------------------------------------------------------------------------------------------


def test_status_table(gateway: FakeGateway) -> None:
    gateway.jobs[FIRST] = job(FIRST, label="nightly", **ENDED)
    gateway.jobs[SECOND] = job(SECOND, state="exploring?", model_observed="real-2", age_s=None)
    done = osrc(gateway.home, "status")
    assert done.returncode == 0, shown(done)
    lines = done.stdout.decode().splitlines()
    assert lines[0].split() == ["JOB", "STATE", "AGE", "MODEL", "ACTS", "LAST"]
    assert lines[1].split()[:5] == [SECOND, "exploring?", "?", "real-2", "R3"]
    assert "!exploring(0-writes)" in lines[1]
    assert "[nightly]" in lines[2]
    assert done.stderr == b""


def test_status_json_and_filters(gateway: FakeGateway) -> None:
    for number in range(1, 6):
        gateway.jobs[job_id(number)] = job(job_id(number), **(ENDED if number % 2 else {}))
    value = parsed(osrc(gateway.home, "status", "--json", "--limit", "2"))
    assert [one["job_id"] for one in value["jobs"]] == [job_id(5), job_id(4)]
    assert value["omitted"] == 3
    assert parsed(osrc(gateway.home, "status", "--json", "--all"))["omitted"] == 0
    assert {one["state"] for one in parsed(osrc(gateway.home, "status", "--json", "--state", "running"))["jobs"]} == {
        "running"
    }
    assert parsed(osrc(gateway.home, "status", "--json", OSRC_STATUS_MAX="1"))["omitted"] == 4
    alone = parsed(osrc(gateway.home, "status", "--json", job_id(3)))
    assert (alone["job_id"], alone["status"], len(alone["jobs"])) == (job_id(3), "done", 1)
    assert gateway.requests[0]["selection"] == {"select": "all", "state": None, "limit": 2}


@pytest.mark.parametrize(
    ("words", "code"), [(["status", "nosuch"], "no_such_job"), (["cancel", "2030"], "ambiguous_job")]
)
def test_an_id_that_does_not_name_one_job(words: list[str], code: str, gateway: FakeGateway) -> None:
    gateway.jobs.update({FIRST: job(FIRST), SECOND: job(SECOND)})
    done = osrc(gateway.home, *words, "--json")
    assert done.returncode == 1
    assert parsed(done)["error"]["code"] == code


def test_a_delegates_words_cannot_steer_the_table(gateway: FakeGateway) -> None:
    evil = {
        "last_marker": "\x1b]0;own\x07\x1b[2Jhello\nworld" + "x" * 10_000,
        "reads": 10**9,
        "writes": None,
        "bash": "9",
    }
    gateway.jobs[FIRST] = job(FIRST, progress=evil, model="m\x1b[31m" * 50, state="a state of tomorrow")
    done = osrc(gateway.home, "status")
    assert done.returncode == 0, shown(done)
    assert b"\x1b" not in done.stdout
    assert len(done.stdout.splitlines()) == 2
    assert b"hello world" in done.stdout


@pytest.mark.parametrize("words", ["status", "events --json", "help env", "-h"])
def test_a_reader_that_leaves_is_no_trouble(words: str, gateway: FakeGateway) -> None:
    for number in range(3000):
        gateway.jobs[job_id(number)] = job(job_id(number))
    gateway.facts = [{"seq": n, "at": 1.0, "fact": {"kind": "job.removed", "job_id": FIRST}} for n in range(1, 5000)]
    script = f"import sys; sys.argv=['osrc']+{words.split()!r}+(['--all'] if {words == 'status'!r} else []); from outsourcerer.cli.main import main; main()"
    done = subprocess.run(
        f'"{sys.executable}" -c "{script}" | head -1; echo "${{PIPESTATUS[0]}}"',
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        env=environment(gateway.home),
        timeout=60,
        check=False,
    )
    assert done.stderr == b""
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 2
    assert lines[1] == "0"


def test_a_closed_stdout_is_no_trouble(gateway: FakeGateway) -> None:
    script = "import sys; sys.argv=['osrc','status']; from outsourcerer.cli.main import main; main()"
    done = subprocess.run(
        f'"{sys.executable}" -c "{script}" >&- 2>&1',
        shell=True,
        capture_output=True,
        env=environment(gateway.home),
        timeout=60,
        check=False,
    )
    assert b"Traceback" not in done.stdout + done.stderr


# --- bg -------------------------------------------------------------------------------------------------------------


def test_bg_prints_the_id_alone(gateway: FakeGateway) -> None:
    done = osrc(gateway.home, "bg", "explore", "look around", SECRET="näh")
    assert done.returncode == 0, shown(done)
    assert done.stdout == f"{FIRST}\n".encode()
    assert f"osrc watch {FIRST}" in done.stderr.decode()
    assert "READ-ONLY" in done.stderr.decode()
    sent = gateway.requests[-1]["request"]
    variables = base64.b64decode(sent["environment"]).split(b"\0")
    assert "SECRET=näh".encode() in variables
    assert sent["verb"] == "explore"


def test_bg_quiet_and_json(gateway: FakeGateway) -> None:
    done = osrc(gateway.home, "bg", "-q", "x")
    assert (done.stdout, done.stderr) == (f"{FIRST}\n".encode(), b"")
    value = parsed(osrc(gateway.home, "bg", "--json", "x"))
    assert value["job_id"] == SECOND
    assert value["plan"]["lane"] == "fake"


def test_dry_run_starts_nothing(gateway: FakeGateway) -> None:
    done = osrc(gateway.home, "run", "--dry-run", "x")
    assert done.returncode == 0, shown(done)
    assert "READ-ONLY" in done.stdout.decode()
    assert "'it'\"'\"'s'" in done.stdout.decode()
    assert gateway.requests[-1]["dry_run"] is True
    assert gateway.jobs == {}
    assert parsed(osrc(gateway.home, "bg", "--dry-run", "--json", "x"))["plan"]["argv"] == PLAN["argv"]


def test_a_refusal_has_its_sentence_and_what_helps(gateway: FakeGateway) -> None:
    gateway.submit = lambda body: {
        "kind": "refused",
        "code": "lane_not_ready",
        "message": "codex is missing",
        "hint": "npm i -g codex",
    }
    done = osrc(gateway.home, "bg", "x")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == "ERROR: codex is missing\n  try: npm i -g codex\n"
    assert parsed(osrc(gateway.home, "bg", "x", "--json"))["error"] == {
        "code": "lane_not_ready",
        "message": "codex is missing",
        "hint": "npm i -g codex",
    }


@pytest.mark.parametrize("size", [300_000, 1_048_576, 1_048_577, 2 * 1024 * 1024])
def test_tasks_of_any_size(size: int, gateway: FakeGateway) -> None:
    text = ("ß" * (size // 2 + 1))[: size // 2] + "a" * (size % 2)
    taken: list[tuple[str, int]] = []

    def submit(body: dict) -> dict:
        request = body["request"]
        if "task_file" in request:
            place = Path(request["task_file"])
            taken.append((place.read_text(), stat.S_IMODE(place.stat().st_mode)))
        else:
            taken.append((request["task"], 0))
        return {"kind": "accepted", "job_id": FIRST, "plan": PLAN}

    gateway.submit = submit
    done = osrc(gateway.home, "bg", "-", stdin=text.encode())
    assert done.returncode == 0, shown(done)
    assert taken == [(text, 0o600 if size > 1_048_576 else 0)]


def test_a_spooled_task_that_was_refused_is_removed(gateway: FakeGateway) -> None:
    gateway.submit = lambda body: {"kind": "refused", "code": "denied", "message": "no", "hint": None}
    assert osrc(gateway.home, "bg", "-", stdin=b"x" * 2_000_000).returncode == 1
    assert list((gateway.home / "spool").iterdir()) == []


def test_a_lost_supervisor_never_gets_the_task_twice(gateway: FakeGateway) -> None:
    gateway.drop_next = {"job.submit"}
    done = osrc(gateway.home, "bg", "x")
    assert done.returncode == 1
    assert b"may or may not" in done.stderr
    assert gateway.kinds() == ["job.submit"]


def test_a_deleted_folder(gateway: FakeGateway, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = (
        f"import os, sys; os.rmdir({str(gone)!r}); sys.argv=['osrc','bg','x'];"
        "from outsourcerer.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=gone,
        env=environment(gateway.home),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(b"ERROR: the current folder can't be used")
    assert gateway.requests == []


@pytest.mark.parametrize("name", ["a b", "it's", 'quo"te', "new\nline", "ünïcode 日本", "-dash"])
def test_odd_folders(name: str, gateway: FakeGateway, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    assert osrc(gateway.home, "bg", "x", cwd=folder).returncode == 0
    assert gateway.requests[-1]["request"]["cwd"] == str(folder)
    assert osrc(gateway.home, "bg", "x", f"--cwd={name}", cwd=tmp_path).returncode == 0
    assert gateway.requests[-1]["request"]["cwd"] == str(folder)


def test_a_folder_that_is_not_utf8(gateway: FakeGateway, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    done = osrc(gateway.home, "bg", "x", cwd=folder)
    assert (done.returncode, gateway.requests) == (1, [])
    assert b"not UTF-8" in done.stderr


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


# --- without, and with another, supervisor --------------------------------------------------------------------------


def test_looking_starts_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert osrc(home, "status").returncode == 0
    assert parsed(osrc(home, "status", "--json"))["jobs"] == []
    assert osrc(home, "result", "x").returncode == 1
    assert osrc(home, "events").returncode == 0
    done = osrc(home, "supervisor", "status")
    assert (done.returncode, done.stdout) == (1, b"not running\n")
    assert osrc(home, "supervisor", "stop").stdout == b"not running\n"
    assert not home.exists()


def test_a_stale_file_is_no_supervisor(gateway: FakeGateway) -> None:
    gateway.close(keep_file=True)
    place = gateway.home / "supervisor.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), "started": 1}))  # an earlier process of this pid
    done = osrc(gateway.home, "supervisor", "status")
    assert (done.returncode, done.stdout) == (1, b"not running\n")
    assert osrc(gateway.home, "status").returncode == 0


def test_a_supervisor_of_a_newer_protocol_is_left_alone(tmp_path: Path) -> None:
    with FakeGateway(tmp_path / "home", protocol=99) as gateway:
        done = osrc(gateway.home, "bg", "x", "--json")
        assert done.returncode == 1, shown(done)
        assert parsed(done)["error"]["code"] == "protocol"
        assert gateway.requests == []


def test_a_newer_supervisor_of_the_same_protocol_is_used(tmp_path: Path) -> None:
    with FakeGateway(tmp_path / "home", version="99.0.0") as gateway:
        assert osrc(gateway.home, "bg", "x").returncode == 0
        assert gateway.kinds() == ["job.submit"]


def test_a_stuck_supervisor_is_said_to_be(
    gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway.silent = True
    monkeypatch.setattr(client, "HELLO_S", 0.3)
    assert run(["status", "--home", str(gateway.home)]) == 1
    assert "did not answer" in capsys.readouterr().err


def test_a_fault_of_ours_is_one_sentence_and_a_trace_in_the_log(gateway: FakeGateway) -> None:
    gateway.submit = lambda body: {"kind": "accepted"}  # no id: no supervisor of ours says that
    done = osrc(gateway.home, "bg", "a secret task")
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"client.log" in done.stderr
    kept = (gateway.home / "client.log").read_text()
    assert "KeyError" in kept
    assert "a secret task" not in kept
    assert b"Traceback" in osrc(gateway.home, "bg", "x", OSRC_DEBUG="1").stderr


@pytest.mark.parametrize(
    ("line", "word", "expected"),
    [
        ("osrc sta", 1, {"status"}),
        ("osrc supervisor st", 2, {"status", "stop"}),
        ("osrc watch 2030", 2, {FIRST}),
        ("osrc result nig", 2, {"nightly"}),
        ("osrc run --ti", 2, {"--tier", "--timeout"}),
        ("osrc run --tier m", 3, {"mid"}),
        ("osrc run --lane code", 3, {"codex", "codexor"}),
        ("osrc lanes show claud", 3, {"claude", "claudex"}),
        ("osrc edit -m hai", 3, {"haiku"}),
        ("osrc bg --trust-lane dev", 3, {"devin"}),
        ("osrc run --after nig", 3, {"nightly"}),
        ("osrc parity her", 2, {"hermes"}),
        ("osrc run --task-file no", 3, {"no"}),
        ("osrc session read x", 3, {""}),
    ],
)
def test_completion(line: str, word: int, expected: set[str], gateway: FakeGateway) -> None:
    gateway.jobs[FIRST] = job(FIRST, label="nightly")
    done = osrc(gateway.home, _OSRC_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(word))
    assert {row.partition(",")[2] for row in done.stdout.decode().splitlines()} == expected, shown(done)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, tmp_path: Path) -> None:
    done = osrc(tmp_path / "home", "completion", shell)
    assert done.returncode == 0, shown(done)
    text = done.stdout.decode()
    assert "osrc" in text
    assert "outsourcerer" in text
    if shell == "bash":
        checked = subprocess.run(["bash", "-n"], input=done.stdout, capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr


def test_hot_paths_import_next_to_nothing(gateway: FakeGateway) -> None:
    script = (
        "import sys, click; before = set(sys.modules)\n"
        "import os; os._exit = lambda code: None\n"
        "sys.argv = ['osrc', *sys.argv[1:]]\n"
        "from outsourcerer.cli.main import run\n"
        "run(sys.argv[1:])\n"
        "sys.stderr.write('\\n'.join(sorted(set(sys.modules) - before)))\n"
    )
    gateway.jobs[SECOND] = job(SECOND)
    for words in (["status"], ["bg", "--quiet", "--model=x", "x"], ["status", "--json"]):
        done = subprocess.run(
            [sys.executable, "-c", script, *words],
            env=environment(gateway.home),
            capture_output=True,
            timeout=60,
            check=True,
        )
        new = done.stderr.decode().split()
        assert "outsourcerer.cli.client" in new
        foreign = {name for name in new if not name.startswith(("outsourcerer", "json", "_json"))}
        assert foreign <= {"_socket", "binascii", "gc"}, foreign
        assert not [
            name for name in new if name.startswith(("outsourcerer.state", "outsourcerer.lanes", "outsourcerer.actors"))
        ]
        assert len([name for name in new if name.startswith("outsourcerer.cli.commands.")]) == 1


def test_logs_hide_secrets_and_raw_ones_do_not(gateway: FakeGateway, tmp_path: Path) -> None:
    token = SECRETS["npm"](random.Random(1))
    log = tmp_path / "out.log"
    log.write_text(f"it is {token[:9]}\x1b[0m{token[9:]}\nlast, unfinished {token}")
    gateway.jobs[FIRST] = job(FIRST, log_path=str(log))
    hidden = b"it is [redacted:npm-token]\nlast, unfinished [redacted:npm-token]"
    assert osrc(gateway.home, "logs", FIRST).stdout == hidden
    assert token not in str(parsed(osrc(gateway.home, "logs", "--json", FIRST)))
    assert token.encode() in osrc(gateway.home, "logs", "--raw", FIRST).stdout


def test_an_error_repeats_no_secret(gateway: FakeGateway) -> None:
    token = SECRETS["npm"](random.Random(1))
    for words in (("status", token), ("status", "--json", f"--{token}"), ("run", "--task-file", f"/nowhere/{token}")):
        done = osrc(gateway.home, *words)
        assert done.returncode
        assert token.encode() not in done.stdout + done.stderr, shown(done)
