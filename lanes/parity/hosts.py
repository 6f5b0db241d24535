"""The tools that parity knows, as data: where each keeps skills, instructions and MCP servers of its user.

Seen with the real CLI: codex 0.171.0, gemini 0.61.0, qwen 0.24.4, copilot 1.0.102, opencode 1.18.33 and droid 0.215.0
start a server that is written like this, and fill in the variable that it refers to. The others are from public facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ...messages.paths import is_absolute

Form = Literal["json", "toml", "yaml"]
Shape = Literal["plain", "stdio", "copilot", "opencode", "codex"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """Where a host reads MCP servers of the user."""

    path: str
    """Below the host's folder."""
    form: Form = "json"
    key: str = "mcpServers"
    shape: Shape = "plain"
    reference: str | None = None
    """How it is told to take a value from its own environment, with ``NAME`` for the variable; None: not known."""
    command: str | None = None
    """Its own way to add one, for what can't be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTool:
    """One of them."""

    name: str
    title: str
    folder: str
    """Its folder in the user's home."""
    variable: str | None = None
    """The environment variable that names another folder."""
    config: bool = False
    """Whether ``folder`` stands in ``XDG_CONFIG_HOME`` where that is set (and ``folder`` begins with ``.config``)."""
    marks: tuple[str, ...] = ()
    """What below the folder shows that the tool is here, where the folder alone does not."""
    skills: tuple[str, ...] = ()
    """Folders of skills, below its own."""
    reads_claude: bool = False
    """Whether it reads ``~/.claude/skills`` by itself; a plugin's skills it does not."""
    instructions: str | None = None
    servers: Servers | None = None


_ROWS = (
    HostTool(
        name="devin",
        title="Devin CLI",
        folder=".config/devin",
        config=True,
        skills=("skills",),
        servers=Servers(path="config.json", command="devin mcp add -s user NAME -- COMMAND"),
    ),
    HostTool(
        name="antigravity",
        title="Antigravity",
        folder=".gemini",
        marks=("antigravity", "antigravity-cli", "config"),
        skills=("antigravity/skills", "config/skills"),
        servers=Servers(path="config/mcp_config.json"),
    ),
    HostTool(
        name="hermes",
        title="Hermes",
        folder=".hermes",
        variable="HERMES_HOME",
        skills=("skills",),
        servers=Servers(path="config.yaml", form="yaml", key="mcp_servers", command="hermes mcp add NAME"),
    ),
    HostTool(
        name="codex",
        title="Codex",
        folder=".codex",
        variable="CODEX_HOME",
        skills=("skills",),
        instructions="AGENTS.md",
        servers=Servers(
            path="config.toml",
            form="toml",
            key="mcp_servers",
            shape="codex",
            reference="NAME",
            command="codex mcp add NAME -- COMMAND",
        ),
    ),
    HostTool(
        name="gemini",
        title="Gemini CLI",
        folder=".gemini",
        marks=("settings.json", "oauth_creds.json", "installation_id", "GEMINI.md", "tmp"),
        skills=("skills",),
        instructions="GEMINI.md",
        servers=Servers(path="settings.json", reference="${NAME}", command="gemini mcp add -s user NAME COMMAND"),
    ),
    HostTool(
        name="qwen",
        title="Qwen Code",
        folder=".qwen",
        skills=("skills",),
        instructions="QWEN.md",
        servers=Servers(path="settings.json", reference="${NAME}", command="qwen mcp add -s user NAME COMMAND"),
    ),
    HostTool(
        name="opencode",
        title="opencode",
        folder=".config/opencode",
        config=True,
        skills=("skills",),
        reads_claude=True,
        instructions="AGENTS.md",
        servers=Servers(
            path="opencode.json", key="mcp", shape="opencode", reference="{env:NAME}", command="opencode mcp add"
        ),
    ),
    HostTool(
        name="cursor",
        title="Cursor",
        folder=".cursor",
        skills=("skills",),
        reads_claude=True,
        instructions="AGENTS.md",
        servers=Servers(path="mcp.json", reference="${env:NAME}"),
    ),
    HostTool(
        name="droid",
        title="Factory Droid",
        folder=".factory",
        skills=("skills",),
        instructions="AGENTS.md",
        servers=Servers(path="mcp.json", shape="stdio", reference="${NAME}", command='droid mcp add NAME "COMMAND"'),
    ),
    HostTool(
        name="copilot",
        title="Copilot CLI",
        folder=".copilot",
        variable="COPILOT_HOME",
        skills=("skills",),
        instructions="copilot-instructions.md",
        servers=Servers(
            path="mcp-config.json", shape="copilot", reference="${NAME}", command="copilot mcp add NAME -- COMMAND"
        ),
    ),
    HostTool(
        name="cline",
        title="Cline",
        folder=".cline",
        skills=("skills",),
        servers=Servers(path="data/settings/cline_mcp_settings.json", command="cline mcp add NAME"),
    ),
)
HOST_TOOLS: Mapping[str, HostTool] = {row.name: row for row in _ROWS}
"""By the word that a person types."""


def folder_of(tool: HostTool, environment: Mapping[str, str]) -> str | None:
    """Return the tool's own folder; None where no home folder is known."""
    named = environment.get(tool.variable, "") if tool.variable else ""
    if is_absolute(named):
        return named.rstrip("/") or "/"
    home = environment.get("HOME") or environment.get("USERPROFILE") or ""
    base = environment.get("XDG_CONFIG_HOME", "") if tool.config else ""
    if is_absolute(base):
        return f"{base.rstrip('/')}/{tool.folder.removeprefix('.config/')}"
    return f"{home.rstrip('/')}/{tool.folder}" if is_absolute(home) else None
