"""What Qwen Code heeds of the work folder, and must not. Seen on 0.24.4.

Its settings and a ``.env`` send the person's key elsewhere, and its hooks run unasked.
"""

from __future__ import annotations

from ..folder_settings import FolderFile, Form

_HARMLESS = frozenset({"$schema", "$version", "context", "general", "output", "ui"})
_VARIABLES = frozenset(
    {"ANTHROPIC_", "BAILIAN_", "DASHSCOPE_", "GEMINI_", "GOOGLE_", "MODELSCOPE_", "OPENAI_", "OPENROUTER_", "QWEN_"}
)

HEEDS = (
    FolderFile(path=".qwen/settings.json", form=Form.JSON, names=_HARMLESS),
    FolderFile(path=".qwen/.env", form=Form.DOTENV, names=_VARIABLES),
    FolderFile(path=".env", form=Form.DOTENV, names=_VARIABLES),
)
