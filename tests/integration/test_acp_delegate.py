"""Our ACP delegate as a child process, against an agent that misbehaves on command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes.real_clis import still_running
from fakes.supervised import until

MODULE = "outsourcerer.actors.delegates.acp_agent"
AGENT = Path(__file__).parents[1] / "fakes" / "fake_acp_agent.py"


def start(root: Path, mode: str, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", MODULE, "--verb=run", *words]
    env = {**os.environ, "HOME": str(root), "OSRC_JOB_ID": str(root)}
    return subprocess.Popen(
        [*command, "--", sys.executable, str(AGENT), mode],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root, env=env,
    )  # fmt: skip


def talk(root: Path, mode: str, *words: str) -> tuple[int, list[dict[str, Any]], bytes]:
    """One turn: exit code, lines, stderr. No process of it may be left."""
    process = start(root, mode, *words)
    out, err = process.communicate(b"Do it.", timeout=240)
    assert b"Traceback" not in err
    assert still_running(str(root)) == []
    return process.returncode, [json.loads(line) for line in out.splitlines()], err


def test_a_turn(tmp_path: Path) -> None:
    code, lines, _err = talk(tmp_path, "talk")
    assert code == 0
    assert lines[-1] == {"type": "end", "ok": True, "text": "two words"}
    assert {"type": "start", "conversation": "s"} in lines


@pytest.mark.parametrize(
    ("mode", "failure", "words"),
    [
        ("die", "transport", "Error: connection refused"),
        ("noise", "launch", "usage: fake"),
        ("auth", "auth", "Authentication required"),
        ("huge", "task", "bytes"),
    ],
)
def test_an_agent_that_fails_is_a_failure_in_words(tmp_path: Path, mode: str, failure: str, words: str) -> None:
    code, lines, _err = talk(tmp_path, mode)
    assert code == 1
    assert (lines[-1]["type"], lines[-1]["ok"], lines[-1]["failure"]) == ("end", False, failure)
    assert words in lines[-1]["message"]


@pytest.mark.parametrize(("mode", "failure"), [("spent", "plan-limit"), ("silent", "transport")])
def test_an_agent_that_says_nothing_after_the_prompt_is_given_up(tmp_path: Path, mode: str, failure: str) -> None:
    code, lines, _err = talk(tmp_path, mode, "--quiet=3" if mode == "silent" else "--quiet=600")
    assert (code, lines[-1]["failure"]) == (1, failure)
    assert {"spent": "daily quota", "silent": "said nothing for 3 s"}[mode] in lines[-1]["message"]


def test_granted_servers_reach_the_agent(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"x": {"command": "/bin/x", "env": {"K": "v"}}}}')
    _code, lines, _err = talk(tmp_path, "servers", f"--mcp-config={tmp_path}/mcp.json")
    expected = [{"name": "x", "command": "/bin/x", "args": [], "env": [{"name": "K", "value": "v"}]}]
    assert json.loads(lines[-1]["text"]) == expected


def test_its_stderr_is_kept(tmp_path: Path) -> None:
    assert b"Error: connection refused" in talk(tmp_path, "die")[2]


@pytest.mark.parametrize("mode", ["long", "strange"])
def test_strange_messages_are_survived(tmp_path: Path, mode: str) -> None:
    code, lines, _err = talk(tmp_path, mode)
    assert (code, lines[-1]["text"]) == (0, "two words")


def test_an_agent_that_stays_is_ended_with_all_of_its_tree(tmp_path: Path) -> None:
    assert talk(tmp_path, "stay")[0] == 0


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-P",
        "-m",
        "outsourcerer.actors.delegates.acp_agent",
        "--verb=run",
        "--",
        "/no/such/agent",
    ]
    done = subprocess.run(command, input=b"x", capture_output=True, cwd=tmp_path, check=False)
    assert (done.returncode, json.loads(done.stdout)["failure"]) == (1, "launch")


def test_without_its_library_it_says_what_to_install(tmp_path: Path) -> None:
    words = ["x", "--verb=run", "--", sys.executable, str(AGENT), "talk"]
    code = f"import runpy, sys; sys.modules['acp'] = None; sys.argv = {words!r}; runpy.run_module({MODULE!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], input=b"x", capture_output=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, json.loads(done.stdout)["failure"]) == (1, "launch")
    assert b"pip install agent-client-protocol" in done.stdout


def test_a_model_that_the_agent_does_not_have(tmp_path: Path) -> None:
    _code, lines, _err = talk(tmp_path, "talk", "--model=x")
    assert (lines[-1]["failure"], lines[-1]["ok"]) == ("model-gone", False)


@pytest.mark.parametrize(
    ("mode", "number"), [("wait", signal.SIGTERM), ("wait", signal.SIGINT), ("mute", signal.SIGTERM)]
)
def test_a_signal_cancels_the_turn_and_ends_the_agent(tmp_path: Path, mode: str, number: signal.Signals) -> None:
    process = start(tmp_path, mode)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"Do it.")
    process.stdin.close()
    if mode == "wait":
        while b"waiting" not in process.stdout.readline():
            pass
    else:
        until(lambda: len(still_running(str(tmp_path), timeout_s=0)) >= 2, "the agent runs")
    process.send_signal(number)
    rest = process.stdout.read()
    assert process.wait(240) == 128 + number
    end = json.loads(rest.splitlines()[-1])
    assert (end["type"], end["failure"]) == ("end", "interrupted")
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()
    assert still_running(str(tmp_path)) == []
