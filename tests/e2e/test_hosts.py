"""Real hosts drive the product: Claude Code by its plugin's skill, Claude Code and Codex by the MCP server.

The hosts are the real CLIs with a scripted model; what they delegate to is the scripted lane.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import Any

from fakes.lanes import install_fake_lanes, steps
from fakes.osrc_process import PACKAGE_PARENT
from fakes.real_clis import World, folder
from outsourcerer.cli.plugin_place import launcher, plugin_root, skill_folder

TASK = steps({"say": "looking"}, {"mark": "DONE", "text": "comma"}, {"end": "The build lacks a comma."})


def served(world: World) -> dict[str, Any]:
    """The server as a host's configuration has it."""
    named = {"OSRC_HOME": str(world.osrc_home), "PYTHONPATH": PACKAGE_PARENT, "OSRC_CLOUD_ACK": "1"}
    return {"command": sys.executable, "args": ["-m", "outsourcerer", "mcp"], "env": named}


def through_tools(*, namespace: str | None = None, prefix: str = "") -> list[dict[str, Any]]:
    """What the model of a host does that has the server's tools, in the host's own form of their names."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("brief", {}),
        ("delegate", {"task": TASK, "lane": "fake", "label": "comma"}),
        ("wait", {"ids": ["comma"], "seconds": 40}),
        ("result", {"job": "comma"}),
    ]
    called = [{"raw": f"{prefix}{name}", "namespace": namespace, "args": given} for name, given in calls]
    return [
        *({"text": f"I call {call['raw']}.", "calls": [call]} for call in called),
        {"text": "A delegate says that the build lacks a comma; I have not checked it."},
    ]


def host(world: World, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a host's CLI in the world's repository, to its end."""
    return subprocess.run(
        [str(folder() / "bin" / words[0]), *words[1:]],
        env=world.environ | {"MCP_TIMEOUT": "120000"} | environ,
        cwd=world.repo,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def delegated(world: World) -> None:
    """The job was done, and the model read what came of it."""
    job = json.loads(world.osrc("status", "comma", "--json").stdout)
    assert (job["lane"], job["state"]) == ("fake", "done"), job
    last = world.server.main_requests[-1].text
    assert "The build lacks a comma." in last
    assert "lanes" in last


def test_claude_code_drives_the_mcp_server(make_world: Any) -> None:
    world = make_world(through_tools(prefix="mcp__osrc__"))
    install_fake_lanes(world.osrc_home)
    config = json.dumps({"mcpServers": {"osrc": {"type": "stdio", **served(world)}}})
    words = ("-p", "Delegate it.", "--mcp-config", config, "--strict-mcp-config", "--allowedTools", "mcp__osrc")
    done = host(world, "claude", *words)
    assert "lacks a comma" in done.stdout, (
        done.stdout,
        done.stderr,
        [r.text[-800:] for r in world.server.main_requests],
    )
    delegated(world)


def test_codex_drives_the_mcp_server(make_world: Any) -> None:
    world = make_world(through_tools(namespace="mcp__osrc"))
    install_fake_lanes(world.osrc_home)
    server = served(world)
    place = world.root / "home" / ".codex" / "config.toml"
    rows = [f"{key} = {json.dumps(server[key])}" for key in ("command", "args")]
    rows.append("startup_timeout_sec = 120")
    rows.append("required = true")  # else the first turn may begin before its tools are there (seen: codex 0.171.0)
    rows += ["[mcp_servers.osrc.env]", *(f"{key} = {json.dumps(value)}" for key, value in server["env"].items())]
    place.write_text(place.read_text() + "\n[mcp_servers.osrc]\n" + "\n".join(rows) + "\n")
    done = host(world, "codex", "exec", "--dangerously-bypass-approvals-and-sandbox", "Delegate it.")
    assert "lacks a comma" in done.stdout, (
        done.stdout,
        done.stderr,
        [r.text[-800:] for r in world.server.main_requests],
    )
    delegated(world)


def test_claude_code_drives_the_skill_of_the_plugin(make_world: Any) -> None:
    """The plugin of this checkout: its hooks, its skill, and the skill's entry point, found where the skill says."""
    entry = f'sh "{launcher()}"'
    words = (
        "brief",
        f"bg --lane fake --label idle -- {shlex.quote(steps({'sleep': 600}))}",
        f"bg --lane fake --label comma -- {shlex.quote(TASK)}",
        "watch comma --for 100",
        "result comma",
    )
    calls = [{"shell": f"{entry} {line}"} for line in words]
    load = {"raw": "Skill", "args": {"skill": "outsourcerer:outsourcerer"}}
    script = [{"text": "I do it.", "calls": [call]} for call in (load, *calls)]
    script.append({"text": "A delegate says that the build lacks a comma; I have not checked it."})
    script.append({"text": "One runs unwatched: I end it.", "calls": [{"shell": f"{entry} cancel idle"}]})
    script.append({"text": "The build lacks a comma, says a delegate; another one that nobody watched is ended."})
    world = make_world(script)
    install_fake_lanes(world.osrc_home)
    program = world.root / "bin" / "osrc"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m outsourcerer "$@"\n')
    program.chmod(0o700)
    path = f"{program.parent}:{world.environ['PATH']}"
    told = ("--plugin-dir", plugin_root(), "--allowedTools", "Skill,Bash")
    done = host(world, "claude", "-p", "Delegate it.", *told, PATH=path, OSRC_UNWATCHED_AFTER="0.1")
    assert "is ended" in done.stdout, (done.stdout, done.stderr)
    delegated(world)
    assert json.loads(world.osrc("wait", "idle", "--json").stdout)["state"] == "canceled"
    texts = [request.text for request in world.server.main_requests]
    assert "Outsourcerer is here" in texts[0]  # the hook
    assert skill_folder() in texts[1]  # the skill says where it is
    assert "You lead" in texts[1]
    assert "that nobody has looked at: " in texts[-2]  # the hook at the end of the turn
