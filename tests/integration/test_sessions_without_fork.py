"""Sessions as on a system without fork, local sockets or pipes that can be waited for: kills, transports, the way in."""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from pathlib import Path
from typing import Any

import pexpect
from fakes.osrc_process import command
from fakes.sessions import FAKE, Sessions
from fakes.supervised import Supervised, alive, kill, until
from fakes.terminal_sessions import Terminals

ROAD = {"OSRC_SPAWN": "plain", "OSRC_LOOPBACK": "1"}
AGENT = "acp:" + shlex.join([sys.executable, str(FAKE.with_name("fake_acp_agent.py")), "talk"])


def held(sessions: Sessions, session_id: str) -> dict[str, Any]:
    """Who holds it, as its holder wrote."""
    return json.loads((sessions.home.root / "sessions" / session_id / "holder.json").read_text())


def test_a_session_over_the_plain_road_through_every_kill(tmp_path: Path) -> None:
    with Supervised(tmp_path, **ROAD) as home:
        sessions = Sessions(home)
        one = sessions.start("--name", "fix", "say hello")
        sessions.until_state(one, "idle")
        seen = held(sessions, one)
        assert seen["socket"].startswith("tcp:")
        with socket.create_connection(("127.0.0.1", int(seen["socket"].removeprefix("tcp:")))) as stranger:
            stranger.settimeout(20)
            stranger.sendall(json.dumps({"token": seen["token"], "op": "close"}).encode() + b"\n")
            assert stranger.recv(100) == b"", "who has not proved itself is not heard, whatever it says"
        asked = sessions.osrc("send", "fix", "ask rm -rf build", "--wait", "--json")
        assert (asked.returncode, json.loads(asked.stdout)["ask"]["target"]) == (3, "rm -rf build")
        sessions.ok("answer", "fix", "yes")
        sessions.until_state(one, "idle")
        # Its supervisor is killed in a turn: the next one takes it up, and its program is the same.
        sessions.ok("send", "fix", "work")
        sessions.until_state(one, "working")
        home.kill_supervisor()
        assert sessions.osrc("send", "fix", "say after", "--for", "0.2").returncode == 2
        assert sessions.ok("interrupt", "fix").endswith("done")
        until(lambda: sessions.given()[-1] == "say after", "what was sent after the kill was given")
        sessions.until_state(one, "idle")
        assert held(sessions, one)["holder"] == seen["holder"]
        stray = int(sessions.ok("send", "fix", "stray", "--wait"))
        assert sessions.ok("stop", "fix") == "fix exited (stopped on request)"
        until(lambda: not alive(stray), "what it had started is gone")
        # A holder that is killed takes its program along, and the conversation goes on.
        two = sessions.start("id")
        sessions.until_state(two, "idle")
        kill(held(sessions, two)["holder"]["pid"])
        lost = sessions.until_state(two, "lost")
        sessions.ok("relaunch")
        assert sessions.ok("send", "id", "--wait").split() == [lost["conversation"]] * 2
        sessions.ok("stop")
        # One that dies by itself says how.
        three = sessions.start()
        assert sessions.osrc("send", "die", "--wait").returncode == 1
        assert sessions.until_state(three, "exited")["exit_code"] == 3
        home.nothing_left()


def test_an_agent_and_a_terminal_over_the_plain_road(tmp_path: Path) -> None:
    with Supervised(tmp_path, **ROAD) as home:
        sessions = Terminals(home, {"redraw_s": 0.01})
        sessions.ok("start", "--lane", AGENT, "--name", "agent", "say something")
        assert sessions.ok("send", "agent", "--wait", "more") == "two words"
        tui = ("--lane", "claude", "--transport", "pty", "--name", "tui")
        one = str(json.loads(sessions.ok("start", *tui, "--json", "begin"))["session"]["session_id"])
        sessions.until_state(one, "idle")
        # A person's terminal is joined to it through its port.
        environ = {**home.environment(), "TERM": "xterm-256color"}
        program, *words = [os.fsdecode(word) for word in command("session", "attach", "tui")]
        child = pexpect.spawn(program, words, env=environ, cwd=str(home.work), dimensions=(30, 100), timeout=60)
        child.expect("Answer 1")
        child.send("typed by hand\r")
        until(lambda: sessions.log("submitted")[-1:] == ["typed by hand"], "what was typed reached the program")
        child.send("\x1d")
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0
        home.kill_supervisor()
        assert sessions.ok("send", "tui", "after", "--wait").startswith("Answer")
        assert sessions.ok("stop", "tui") == "tui exited (stopped on request)"
        assert sessions.ok("stop", "agent") == "agent exited (stopped on request)"
        home.nothing_left()
