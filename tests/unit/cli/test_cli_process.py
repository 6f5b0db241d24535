"""The front end as a real process against a scripted supervisor: the table, and what is given to it."""

from __future__ import annotations

import base64
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.fake_gateway import PLAN, FakeGateway, job, job_id
from fakes.gateway_jobs import ENDED
from fakes.osrc_process import environment, osrc, parsed, shown

FIRST, SECOND = job_id(1), job_id(2)


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
    program = (
        "import sys; from outsourcerer.cli import submit; submit._GONE_S = 0.2; sys.argv = ['osrc', 'bg', 'x'];"
        "from outsourcerer.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(gateway.home), capture_output=True, timeout=240, check=False
    )
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
