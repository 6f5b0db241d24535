"""What Droid heeds of the work folder, and must not. Seen on 0.215.0.

Its settings replace where a model of the person's own is asked, and its hooks and MCP servers start unasked.
"""

from __future__ import annotations

from ..folder_settings import FolderFile, Form

_HARMLESS = frozenset({"$schema", "diffMode", "model", "reasoningEffort"})

HEEDS = (
    FolderFile(path=".factory/settings.json", form=Form.JSON, names=_HARMLESS),
    FolderFile(path=".factory/settings.local.json", form=Form.JSON, names=_HARMLESS),
    FolderFile(path=".factory/hooks.json", form=Form.JSON),
    FolderFile(path=".factory/mcp.json", form=Form.JSON),
)
