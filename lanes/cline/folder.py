"""What Cline heeds of the work folder, and must not. Seen on 3.0.65.

Hooks and plugins run by themselves. The program is a Bun executable: what the folder's ``bunfig.toml`` preloads runs
inside it, and the folder's ``.env`` becomes its environment.
"""

from __future__ import annotations

from ..folder_settings import FolderFile, Form

HEEDS = (
    FolderFile(path=".clinerules/hooks", form=Form.FOLDER, above=False),
    FolderFile(path=".cline/hooks", form=Form.FOLDER, above=False),
    FolderFile(path=".cline/plugins", form=Form.FOLDER, above=False),
    FolderFile(path="bunfig.toml", form=Form.TOML, names=frozenset({"install", "telemetry", "test"}), above=False),
    *(
        FolderFile(path=name, form=Form.DOTENV, names=frozenset({"CLINE_"}), above=False)
        for name in (".env", ".env.local", ".env.development", ".env.production")
    ),
)
