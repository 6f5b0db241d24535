"""The skill as resources and as a prompt, for hosts that know no skills."""

from __future__ import annotations

from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError

from ..plugin_place import skill_folder

HEAD = "The tools of this server do what the commands below do: session_start is `osrc session start`, and so on.\n\n"


def add(server: MCPServer) -> None:
    """Register them."""

    @server.resource("osrc://skill", mime_type="text/markdown")
    def skill() -> str:
        """How to lead other AI tools with this server: what to decide, when to ask, how to watch, check and report."""
        return _text(Path(skill_folder()) / "SKILL.md")

    @server.resource("osrc://skill/references/{page}", mime_type="text/markdown")
    def reference(page: str) -> str:
        """A page that the skill refers to, such as sessions.md."""
        folder = Path(skill_folder()) / "references"
        if page not in [entry.name for entry in folder.glob("*.md")]:
            raise ResourceNotFoundError(f"there is no page {page[:60]!a}: osrc://skill names those there are")
        return _text(folder / page)

    @server.prompt(title="Lead the other AI tools")
    def lead() -> str:
        """Read how to lead the AI tools on this machine, and begin with a glance at them."""
        return HEAD + _text(Path(skill_folder()) / "SKILL.md").split("---\n", 2)[2]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
