"""Which MCP servers a CLI would start: asked in the work folder, and never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest
from outsourcerer.actors.own_servers import with_own_servers
from outsourcerer.lanes.contract import Host
from outsourcerer.lanes.registry import builtin

LANE = builtin("copilot")


def asked(tmp_path: Path, script: str, environ: dict[str, str] | None = None) -> tuple[str, ...] | None:
    """What stands in the host after a ``copilot`` that runs ``script`` was asked."""
    program = tmp_path / "copilot"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    host = Host(environment=environ or {}, executables={"copilot": str(program)})
    return with_own_servers(host, LANE, str(tmp_path)).own_servers


def test_the_cli_is_asked_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text('{"mcpServers": {"b": {}, "a b": {}}}')
    assert asked(tmp_path, '[ "$*" = "mcp list --json" ] && cat list.json') == ("a b", "b")
    assert asked(tmp_path, "echo '{\"mcpServers\": {}}'") == ()


@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        "echo '{\"mcpServers\": {}}'; exit 1",
        "true",
        "echo '[]'",
        "echo '{}'",
        "echo '{\"mcpServers\": []}'",
        "head -c 70000 /dev/zero",
        "printf '\\377'",
    ],
)
def test_no_list_is_none(tmp_path: Path, script: str) -> None:
    assert asked(tmp_path, script) is None


def test_nobody_is_asked_where_they_are_wanted(tmp_path: Path) -> None:
    assert asked(tmp_path, "touch asked", {"OSRC_COPILOT_USER_MCP": "1"}) == ()
    assert not (tmp_path / "asked").exists()
    other = Host(environment={}, executables={"codex": "/nowhere"})
    assert with_own_servers(other, builtin("codex"), str(tmp_path)) is other
