"""Sessions in a terminal, through the commands: supervisor, holder, and the fake interface as Claude Code."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import termios
from pathlib import Path
from typing import Any

import pexpect
import pytest
from fakes.osrc_process import command
from fakes.supervised import Supervised, until
from fakes.terminal_sessions import Terminals


@pytest.fixture
def terminals(home: Supervised) -> Any:
    return lambda **script: Terminals(home, script)


def drained(master: int) -> bool:
    """Take what a terminal shows, so that nobody waits for that."""
    with contextlib.suppress(BlockingIOError):
        os.read(master, 65536)
    return True


def test_a_terminal_session_from_its_first_screen_to_its_end(terminals: Any) -> None:
    sessions = terminals(first=["trust"], ask_every=2)
    started = sessions.osrc("start", "--lane", "claude", "--transport", "pty", "--name", "tui", "--json", "begin")
    one = str(json.loads(started.stdout)["session"]["session_id"])
    # Its first screen is told, and what was to be given waits for the answer.
    sessions.until_state(one, "trust")
    assert sessions.log("submitted") == []
    assert "No, exit" in sessions.ok("answer", "tui")
    sessions.ok("answer", "tui", "Yes, I trust this folder")
    until(lambda: sessions.log("submitted") == ["begin"], "the task was given")
    sessions.until_state(one, "idle")
    assert sessions.ok("send", "tui", "again\nand more", "--for", "30").split()[-1] in ("turn-started", "accepted")
    sessions.until_state(one, "waiting-approval")
    sessions.ok("answer", "tui", "yes")
    until(
        lambda: sessions.record(one)["turns"] == 2 and sessions.record(one)["state"] == "idle", "its turns have ended"
    )
    ends = [event["text"] for event in sessions.events(one) if event["type"] == "end"]
    assert ends == ["Answer 1.", "Answer 2."]
    assert "Answer 2." in sessions.ok("read", "tui", "--screen")
    assert sessions.ok("model", "tui", "fable").endswith("done")
    assert sessions.ok("send", "tui", "last", "--wait") == "Answer 3."
    record = sessions.record(one)
    assert (record["model"], record["model_observed"], record["model_pin"]) == ("fable", "claude-fable-5", "kept")
    assert sessions.log("typed_into_dialog") == []
    assert sessions.ok("stop", "tui").startswith("tui exited")
    sessions.home.nothing_left()


def test_a_person_attaches_types_and_leaves_the_session_running(terminals: Any) -> None:
    sessions = terminals()
    one = sessions.start("--transport", "pty", "--name", "live")
    sessions.until_state(one, "idle")
    environ = {**sessions.home.environment(), "TERM": "xterm-256color"}
    argv = [os.fsdecode(word) for word in command("session", "attach", "live")]
    person = pexpect.spawn(
        argv[0], argv[1:], env=environ, cwd=str(sessions.home.work), dimensions=(30, 100), timeout=30
    )
    person.expect_exact("manual mode on")
    person.send("typed by hand\r")
    until(lambda: sessions.log("submitted") == ["typed by hand"], "what was typed has arrived")
    person.expect_exact("Answer 1.")
    person.setwinsize(33, 90)
    until(lambda: "─" * 90 in sessions.ok("read", "live", "--screen").splitlines(), "the new size was taken")
    person.send("\x1d")
    person.expect_exact("detached from live")
    person.expect(pexpect.EOF)
    person.close()
    assert person.exitstatus == 0
    # Whoever ends it gets the terminal back as it was.
    ours, theirs = os.openpty()
    os.set_blocking(ours, False)
    try:
        before = termios.tcgetattr(theirs)
        stood = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
        with subprocess.Popen(argv, env=environ, cwd=sessions.home.work, **stood) as viewer:
            until(lambda: termios.tcgetattr(theirs) != before, "it is raw")
            viewer.terminate()
            until(lambda: drained(ours) and viewer.poll() is not None, "it has left")
        assert (viewer.returncode, termios.tcgetattr(theirs)) == (143, before)
    finally:
        os.close(ours)
        os.close(theirs)
    sessions.until_state(one, "idle")
    assert sessions.ok("send", "live", "still there", "--wait") == "Answer 2."
    sessions.ok("stop", "live")
    sessions.home.nothing_left()


def test_attach_needs_a_terminal_at_both_ends(terminals: Any) -> None:
    sessions = terminals()
    sessions.start("--transport", "pty", "--name", "live")
    refused = sessions.osrc("attach", "live")
    assert (refused.returncode, b"needs a terminal" in refused.stderr) == (64, True)
    sessions.ok("stop", "live")


def test_a_killed_supervisor_is_not_noticed_by_the_terminal(terminals: Any) -> None:
    sessions = terminals(turn_s=1.0, drift="claude-opus-5-5")
    one = sessions.start("--transport", "pty", "--name", "live", "-m", "fable", "work")
    sessions.until_state(one, "working", "idle")
    sessions.home.kill_supervisor()
    assert sessions.ok("send", "live", "after", "--wait") == "Answer 2."
    assert sessions.log("submitted") == ["work", "after"]
    until(lambda: sessions.record(one)["model_pin"] == "drifted", "another model than asked for was noticed")
    holder = Path("/proc", str(sessions.record(one)["holder"]["pid"]), "statm")
    if holder.exists():
        assert int(holder.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") < 25 * 1024 * 1024
    sessions.ok("stop", "live")
    sessions.home.nothing_left()
