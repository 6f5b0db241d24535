"""What parity writes is what the real tools read: Codex names the server, Gemini CLI starts it with the variable."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from fakes.osrc_process import osrc
from fakes.real_clis import folder, why_absent

pytestmark = pytest.mark.e2e


def test_codex_and_gemini_take_what_they_were_given(tmp_path: Path) -> None:
    if (reason := why_absent("node", "codex", "gemini")) is not None:
        pytest.skip(reason)
    user, seen = tmp_path / "user", tmp_path / "seen"
    for name in (".codex", ".gemini", "work"):
        (user / name).mkdir(parents=True)
    program = tmp_path / "server"
    program.write_text(f'#!/bin/sh\nprintf "%s %s" "$LEVEL" "$PROBE_TOKEN" > "{seen}"\n')
    program.chmod(0o755)
    server = {"command": str(program), "args": ["--quietly"], "env": {"LEVEL": "3", "PROBE_TOKEN": "not-this-one"}}
    (user / ".claude.json").write_text(json.dumps({"mcpServers": {"probe": server}}))
    done = osrc(tmp_path / "osrc", "parity", "codex", "gemini", HOME=str(user), PATH="/usr/bin:/bin")
    assert done.returncode == 0, done

    environment = {
        "HOME": str(user),
        "PATH": f"{folder()}/bin{os.pathsep}/usr/bin{os.pathsep}/bin",
        "PROBE_TOKEN": "from-here",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_API_KEY": "none",
    }

    def run(*words: str) -> str:
        made = subprocess.run(
            [f"{folder()}/bin/{words[0]}", *words[1:]],
            env=environment,
            cwd=user / "work",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert made.returncode == 0, made
        return made.stdout

    told = json.loads(run("codex", "mcp", "get", "probe", "--json"))
    transport = told["transport"]
    assert (transport["command"], transport["args"]) == (str(program), ["--quietly"])
    assert (transport["env"], transport["env_vars"]) == ({"LEVEL": "3"}, ["PROBE_TOKEN"])
    run("gemini", "mcp", "list")
    assert seen.read_text() == "3 from-here"
    assert osrc(tmp_path / "osrc", "parity", "--undo", HOME=str(user)).returncode == 0
    assert not (user / ".codex" / "config.toml").exists()
