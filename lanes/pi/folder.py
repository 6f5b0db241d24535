"""What pi heeds of the work folder, and must not. Seen on 0.73.1.

An extension of the folder runs inside pi, which holds the keys. Read-only verbs start none (``argv.py``).
"""

from __future__ import annotations

from ..folder_settings import FolderFile, Form

_HARMLESS = frozenset(
    {"compaction", "defaultModel", "defaultProvider", "defaultThinkingLevel", "prompts", "skills", "theme", "themes"}
)

HEEDS = (
    FolderFile(path=".pi/extensions", form=Form.FOLDER, above=False, read_only=False),
    FolderFile(path=".pi/settings.json", form=Form.JSON, names=_HARMLESS, above=False, read_only=False),
)
