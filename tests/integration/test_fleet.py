"""``osrc fleet`` over real processes: found by what they are, in their panes, known as self, and gone when they are gone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fakes.lanes import lane_toml, write_lane
from fakes.programs import write_program
from fakes.supervised import Supervised, until
from fakes.transcripts import written
from outsourcerer.state.processes import read_process

TASK, SAY = ("user", "fix the build"), ("say", "all is well")
SLEEPS = "import time\nopen(__import__('sys').argv[1], 'w').close()\ntime.sleep(600)"


def named(tool: str, ready: Path, *words: str, program: str = SLEEPS) -> list[str]:
    """Return a command that runs under a tool's name, and makes ``ready`` once it does."""
    code = 'exec -a "$0" "$1" -I -S -c "$2" "${@:3}"'
    return ["bash", "-c", code, tool, sys.executable, program, str(ready), *words]


class Here:
    """A scratch machine: other tools' programs and transcripts, and the command."""

    def __init__(self, home: Supervised) -> None:
        self.home, self.user = home, home.root.parent
        self.started: list[subprocess.Popen[bytes]] = []

    def put(self, place: str, data: bytes) -> Path:
        path = self.user / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.replace(b"/w/repo", os.fsencode(self.home.work.resolve())))
        return path

    def start(self, *words: str, program: str = SLEEPS) -> subprocess.Popen[bytes]:
        """Start a program under a tool's name; it runs once it has made its file."""
        ready = self.home.scratch / f"ready{len(self.started)}"
        argv = named(words[0], ready, *words[1:], program=program)
        environ = self.home.environment()
        self.started.append(subprocess.Popen(argv, cwd=self.home.work, env=environ, stdin=subprocess.DEVNULL))
        until(ready.exists, "the program runs")
        return self.started[-1]

    def rows(self, **more: str) -> dict[str, dict[str, Any]]:
        """The sessions of this test's folder; other tests and people have sessions too."""
        told = json.loads(self.home.ok("fleet", "ls", "--all", "--json", **more))
        return {row["id"]: row for row in told["sessions"] if row["cwd"] == str(self.home.work.resolve())}

    def end(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait(240)


@pytest.fixture
def here(home: Supervised) -> Iterator[Here]:
    made = Here(home)
    yield made
    for process in made.started:
        with suppress(ProcessLookupError):
            made.end(process)


def test_a_session_lives_and_dies_with_its_process(here: Here) -> None:
    here.put(".pi/agent/sessions/--w--/a.jsonl", written("pi", TASK) or b"")
    here.put(".codex/sessions/2026/11/30/rollout-b.jsonl", written("codex", TASK, SAY) or b"")
    assert {row["state_label"] for row in here.rows().values()} == {"Stopped mid-task", "Done"}
    pi = here.start("pi")
    codex = here.start("codex", "exec")
    for supervised in (False, True):
        if supervised:
            here.home.bg({"end": "hi"})
        rows = here.rows()
        assert (rows["pi:s-pi"]["state"], rows["pi:s-pi"]["pid"]) == ("working", pi.pid)
        assert (rows["codex:s-codex"]["state"], rows["codex:s-codex"]["kind"]) == ("idle", "headless")
    here.end(pi)
    until(lambda: here.rows()["pi:s-pi"]["state"] == "stopped", "the end was seen", pause=0.3)
    assert here.rows()["codex:s-codex"]["alive"] is True
    shown = here.home.ok("fleet", "show", str(codex.pid))
    assert "assistant: all is well" in shown
    assert here.home.osrc("fleet", "show", "s-").returncode == 1


def test_the_session_that_asks_knows_itself(here: Here) -> None:
    asks = "import subprocess, sys, json\nout = open(sys.argv[1], 'w')\n"
    asks += "json.dump(json.loads(subprocess.run(json.loads(sys.argv[2]), stdout=subprocess.PIPE).stdout), out)\nout.close()"
    asks += "\nimport time\ntime.sleep(600)"
    words = [sys.executable, "-m", "outsourcerer", "fleet", "ls", "--json"]
    here.start("pi")
    claude = here.start("claude", json.dumps(words), program=asks)
    answer = here.home.scratch / "ready1"
    until(lambda: answer.exists() and answer.stat().st_size > 0 and answer.read_text().endswith("}"), "it was told")
    rows = [row for row in json.loads(answer.read_text())["sessions"] if row["cwd"] == str(here.home.work.resolve())]
    assert {row["tool"]: row["self"] for row in rows} == {"pi": False, "claude": True}
    assert next(row["pid"] for row in rows if row["self"]) == claude.pid


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_session_in_a_pane_of_whatever_server(here: Here) -> None:
    socket = here.home.scratch / "t" / f"tmux-{os.getuid()}" / "mine"
    socket.parent.mkdir(parents=True, mode=0o700)
    ready = here.home.scratch / "ready"
    argv = ["tmux", "-S", str(socket), "-f", "/dev/null", "new-session", "-d", "-s", "desk", *named("codex", ready)]
    subprocess.run(argv, check=True, cwd=here.home.work, env=here.home.environment(), timeout=240)
    try:
        until(ready.exists, "the pane's program runs")
        (row,) = here.rows(TMUX_TMPDIR=str(here.home.scratch / "t")).values()
        assert (row["tool"], row["kind"], row["state"]) == ("codex", "interactive", "unknown")
        assert (row["pane"]["server"], row["pane"]["target"]) == (str(socket), "desk:0.0")
        assert read_process(row["pid"]).started == row["pid_started"]
    finally:
        subprocess.run(["tmux", "-S", str(socket), "kill-server"], check=False, capture_output=True, timeout=240)


NAMER = """
import re, sys
for number in re.findall(r"^[0-9a-f]{16} session (\\d+)$", sys.stdin.read(), re.M):
    print(f"{number}: Repair the broken build number {number}")
"""


def test_names_are_asked_once_through_the_gate_and_kept(here: Here) -> None:
    secret = "sk-ant-api03-" + "Ab3" * 31 + "AA"
    here.put(".pi/agent/sessions/--w--/a.jsonl", written("pi", ("user", f"use {secret}"), SAY) or b"")
    namer = here.home.scratch / "namer"
    write_program(namer, NAMER)
    toml = lane_toml(argv=[str(namer)], output="text", agentic=False)
    write_lane(here.home.root, "namer", toml)
    write_lane(here.home.root, "far", toml.replace("local = true", "local = false"))
    refused = here.home.osrc("fleet", "name", "--provider", "far", "--json", OSRC_CLOUD_ACK="")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["error"]["code"] == "consent_needed"
    assert not (here.home.root / "fleet" / "names.json").exists()
    told = json.loads(here.home.ok("fleet", "name", "--provider", "namer", "--most", "60", "--json"))
    assert {"id": "pi:s-pi", "name": f"Repair the broken build number {_place(told)}"} in told["named"]
    # The supervisor's last look may be a second old.
    until(lambda: here.rows()["pi:s-pi"]["name_source"] == "given", "the name is shown", pause=0.3)
    assert here.rows()["pi:s-pi"]["name"].startswith("Repair the broken build")
    (job,) = told["jobs"]
    assert secret.encode() not in (here.home.root / "jobs" / job / "prompt.md").read_bytes()
    again = json.loads(here.home.ok("fleet", "name", "--provider", "namer", "--json"))
    assert "pi:s-pi" not in [one["id"] for one in again["named"]]


def _place(told: dict[str, Any]) -> int:
    """Where in the question this session stood: there may be others on the machine."""
    return next(number for number, one in enumerate(told["named"], 1) if one["id"] == "pi:s-pi")
