"""What Gemini CLI heeds of the work folder, and must not. Seen on 0.61.0.

The folder has to be called trusted, or a headless run ends at once; then a ``.env`` sends the key elsewhere, and
settings run hooks and a discovery command, and send telemetry with the prompt in it. Nothing leaves these out.
"""

from __future__ import annotations

from ..folder_settings import FolderFile, Form

_HARMLESS = frozenset({"$schema", "$version", "context", "general", "model", "output", "ui"})
_VARIABLES = frozenset({"CLOUD_SHELL", "CODE_ASSIST_", "GEMINI_", "GOOGLE_"})

HEEDS = (
    FolderFile(path=".gemini/settings.json", form=Form.JSON, names=_HARMLESS),
    FolderFile(path=".gemini/.env", form=Form.DOTENV, names=_VARIABLES),
    FolderFile(path=".env", form=Form.DOTENV, names=_VARIABLES),
)
