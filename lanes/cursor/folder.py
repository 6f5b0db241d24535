"""What Cursor CLI heeds of the work folder, and must not: from its public documentation, not tried.

The folder has to be called trusted (``--trust``); then its hooks and MCP servers start.
"""

from __future__ import annotations

from ..folder_settings import FolderFile, Form

HEEDS = (
    FolderFile(path=".cursor/hooks.json", form=Form.JSON, names=frozenset({"version"})),
    FolderFile(path=".cursor/mcp.json", form=Form.JSON),
    FolderFile(path=".cursor/cli.json", form=Form.JSON, names=frozenset({"version", "editor", "model"})),
)
