"""Sessions in a pane of a tmux server of ours: steered as in any terminal, and alive without their holder."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from fakes.supervised import Supervised, kill, until
from fakes.terminal_sessions import Terminals

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def test_a_session_in_a_pane_outlives_its_supervisor_and_its_holder(home: Supervised) -> None:
    sessions = Terminals(home, {})
    one = sessions.start("--transport", "tmux", "--name", "pane", "begin")
    until(lambda: sessions.log("submitted") == ["begin"], "the task was given")
    before = sessions.until_state(one, "idle")
    assert before["transport"] == "tmux"
    launch = json.loads((home.root / "sessions" / one / "holder.json").read_text())
    shown = subprocess.run(
        ["tmux", "-S", f"{launch['socket']}.tmux", "capture-pane", "-p", "-t", "osrc"], capture_output=True, check=False
    )
    assert b"Answer 1." in shown.stdout, shown

    home.kill_supervisor()
    assert sessions.ok("send", "pane", "again\nand more", "--wait") == "Answer 2."

    kill(before["holder"]["pid"])
    until(lambda: sessions.record(one)["attempt"] == 2, "another holder joins")
    after = sessions.until_state(one, "idle")
    assert after["delegate"] == before["delegate"]
    assert after["holder"] != before["holder"]
    assert sessions.ok("send", "pane", "last", "--wait") == "Answer 3."
    assert sessions.log("submitted") == ["begin", "again\nand more", "last"]
    assert sessions.log("typed_into_dialog") == []

    assert sessions.ok("stop", "pane").startswith("pane exited")
    home.nothing_left()


def test_without_tmux_it_is_refused(home: Supervised) -> None:
    sessions = Terminals(home, {})
    folder = home.scratch / "bin"
    (folder / "python3").symlink_to(shutil.which("python3") or "/usr/bin/python3")
    refused = sessions.osrc("start", "--lane", "claude", "--transport", "tmux", PATH=str(folder))
    assert (refused.returncode, b"tmux is not on PATH" in refused.stderr) == (1, True)
