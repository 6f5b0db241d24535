"""The front end as a real process without a supervisor, with a strange one, and for itself: completion, imports, secrets."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.fake_gateway import FakeGateway, job, job_id
from fakes.osrc_process import environment, osrc, parsed, shown
from fakes.secret_corpus import SECRETS
from outsourcerer.cli import client
from outsourcerer.cli.main import run

FIRST, SECOND = job_id(1), job_id(2)


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
    if shell == "fish":
        assert text.count('string split --max 1 "," $completion') == 2
        assert 'string split ","' not in text


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
