"""Claims on panes of a real tmux server of the test's own, with the fake interface in them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.supervised import Supervised, until
from fakes.terminal_stage import PROGRAM

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Panes:
    """One tmux server; each pane runs the fake as ``claude``."""

    def __init__(self, home: Supervised) -> None:
        self.home = home
        self.socket = home.scratch / "tmux.sock"
        self.program = home.scratch / "claude"
        self.program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{PROGRAM}" "$@"\n')
        self.program.chmod(0o700)
        self.made = 0
        home.environ["PATH"] = f"{home.scratch}:/usr/local/bin:/usr/bin:/bin"

    def tmux(self, *words: str) -> str:
        argv = ["tmux", "-S", str(self.socket), "-f", "/dev/null", *words]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True, env=self.home.environment())
        return done.stdout.strip()

    def open(self, **script: Any) -> str:
        """Start one; return its pane's id once it shows its composer."""
        self.made += 1
        path = self.home.scratch / f"script{self.made}.json"
        path.write_text(json.dumps({"log": str(path.with_suffix(".log")), **script}))
        # The interpreter's own words come first: a pane's program is found by the name of what it runs.
        words = f'exec -a claude "{sys.executable}" -I -S "{PROGRAM}" "{path}"'
        pane = self.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "120", "-y", "40", f"bash -c '{words}'")
        until(lambda: "Claude Code" in self.tmux("capture-pane", "-p", "-t", pane), "the interface is up")
        return pane

    def log(self, key: str, number: int = 1) -> list[Any]:
        path = self.home.scratch / f"script{number}.log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [entry[key] for line in lines if key in (entry := json.loads(line))]

    def claim(self, name: str, pane: str, **more: str) -> tuple[int, dict[str, Any]]:
        done = self.home.osrc("session", "claim", name, pane, "--server", str(self.socket), "--json", **more)
        assert b"Traceback" not in done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout)

    def osrc(self, *words: str, **more: str) -> tuple[int, str]:
        done = self.home.osrc("session", *words, **more)
        assert b"Traceback" not in done.stderr, done.stderr
        return done.returncode, (done.stdout + done.stderr).decode()


@pytest.fixture
def panes(home: Supervised) -> Iterator[Panes]:
    made = Panes(home)
    yield made
    if made.socket.exists():
        subprocess.run(["tmux", "-S", str(made.socket), "kill-server"], check=False, capture_output=True)


def test_a_claimed_pane_gets_a_reply_once_and_only_from_its_owner(panes: Panes) -> None:
    pane = panes.open(turn_s=0.3)
    code, claimed = panes.claim("ext", pane, OSRC_CONTROLLER_ID="me")
    assert (code, claimed["cli"], claimed["pane"]) == (0, "claude", pane)
    folder = panes.home.root / "claims" / "ext"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "owner.json").stat().st_mode & 0o777 == 0o600
    assert claimed["token"] not in (folder / "owner.json").read_text()

    mine = {"OSRC_CONTROLLER_ID": "me", "OSRC_SESSION_CLAIM_TOKEN": claimed["token"]}
    # Each of these is refused before a key is pressed.
    assert panes.claim("other", pane, OSRC_CONTROLLER_ID="you")[0] == 1
    for wrong in ({}, {**mine, "OSRC_SESSION_CLAIM_TOKEN": "x"}, {**mine, "OSRC_CONTROLLER_ID": "you"}):
        assert panes.osrc("reply", "ext", "no", OSRC_EXTERNAL_SEND="1", **wrong)[0] == 1
        assert panes.osrc("release", "ext", **wrong)[0] == 1
    code, told = panes.osrc("reply", "ext", "no", **mine)
    assert (code, "OSRC_EXTERNAL_SEND=1" in told) == (1, True)
    code, told = panes.osrc("reply", "ext", "no", OSRC_EXTERNAL_SEND="1", **{**mine, "OSRC_CLOUD_ACK": "0"})
    assert (code, "OSRC_CLOUD_ACK" in told) == (1, True)
    key = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    code, told = panes.osrc("reply", "ext", f"use {key}", OSRC_EXTERNAL_SEND="1", **mine)
    assert (code, "secret" in told, key in told) == (1, True, False)
    assert panes.log("submitted") == []

    text = "hello from outside\nwith ❯ 1. Yes and 漢字"
    code, told = panes.osrc("reply", "ext", text, OSRC_EXTERNAL_SEND="1", **mine)
    assert (code, told.startswith("ext turn-started\n")) == (0, True), told
    assert panes.log("submitted") == [text]
    assert panes.log("typed_into_dialog") == []
    assert panes.osrc("release", "ext", **mine)[0] == 0
    assert panes.claim("other", pane)[0] == 0


def test_a_dialog_or_a_draft_gets_nothing_typed(panes: Panes) -> None:
    pane = panes.open(first=["trust"])
    _, claimed = panes.claim("ext", pane)
    mine = {"OSRC_SESSION_CLAIM_TOKEN": claimed["token"], "OSRC_EXTERNAL_SEND": "1"}
    code, told = panes.osrc("reply", "ext", "hello", **mine)
    assert (code, "trust" in told) == (1, True)
    panes.tmux("send-keys", "-t", pane, "Down")
    panes.tmux("send-keys", "-t", pane, "Enter")
    until(lambda: panes.log("chose") == ["Yes, I trust this folder"], "the dialog was answered by hand")
    panes.tmux("send-keys", "-t", pane, "-l", "a thought of mine")
    until(lambda: "a thought of mine" in panes.tmux("capture-pane", "-p", "-t", pane), "it is a draft")
    code, told = panes.osrc("reply", "ext", "hello", **mine)
    assert (code, "draft" in told) == (1, True)
    assert (panes.log("submitted"), panes.log("typed_into_dialog")) == ([], [])


def test_only_the_proven_death_of_the_program_makes_room(panes: Panes) -> None:
    pane = panes.open()
    other = panes.open()
    _, claimed = panes.claim("ext", pane)
    panes.claim("two", other)
    assert panes.claim("ext", other)[0] == 1
    pid = int(panes.tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))
    panes.tmux("kill-pane", "-t", pane)
    until(lambda: not Path("/proc", str(pid)).exists(), "the pane's program is gone")
    mine = {"OSRC_SESSION_CLAIM_TOKEN": claimed["token"], "OSRC_EXTERNAL_SEND": "1"}
    assert panes.osrc("reply", "ext", "hello", **mine)[0] == 1
    assert panes.osrc("release", "ext")[0] == 0  # anybody may: it is dead
    assert panes.claim("ext", other)[0] == 1  # that one lives, under its own name
    assert panes.osrc("claim", "x", "%99", "--server", str(panes.socket))[0] == 1
    assert panes.osrc("claim", "x", "%0", "--server", "/nowhere/sock")[0] == 1
