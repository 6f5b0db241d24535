"""The real OpenCode and Cline in a world of :mod:`fakes.real_clis`, set up with the scripted server as their provider."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from fakes.real_clis import World, folder

MODELS = {"opencode": "stub/stub-model", "cline": "stub-model"}
"""What is said with ``-m``. The model server is asked for ``stub-model``."""


def why_absent(name: str) -> str | None:
    """The reason to skip, or None when the CLI is there."""
    there = (folder() / "bin" / name).exists()
    return None if there else f"{name} not in {folder()}/bin: run tests/install_clis.sh"


def bwrap_folder() -> str | None:
    """Where a bubblewrap is that works here, or None."""
    program = shutil.which("bwrap")
    if program is None:
        return None
    words = (program, "--unshare-user", "--cap-drop", "ALL", "--dev-bind", "/", "/", "true")
    works = subprocess.run(words, check=False, capture_output=True).returncode == 0
    return os.path.dirname(program) if works else None  # noqa: PTH120


def set_up(world: World, lane: str) -> dict[str, str]:
    """Set a lane's CLI up in the world's home; return the environment that goes with it."""
    home, url = world.root / "home", f"{world.server.url}/v1"
    if lane == "opencode":
        model = {"name": "Stub", "limit": {"context": 200_000, "output": 8192}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "Stub", "models": {"stub-model": model}}
        provider["options"] = {"baseURL": url, "apiKey": "test"}
        chosen = {"model": "stub/stub-model", "small_model": "stub/stub-model"}
        write(home / ".config" / "opencode" / "opencode.json", chosen | {"provider": {"stub": provider}})
        return {}
    settings = {"provider": "openai-compatible", "apiKey": "test", "baseUrl": url, "model": "stub-model"}
    row = {"settings": settings, "updatedAt": "2026-11-30T00:00:00.000Z", "tokenSource": "manual"}
    content = {"version": 1, "lastUsedProvider": "openai-compatible", "providers": {"openai-compatible": row}}
    write(home / ".cline" / "data" / "settings" / "providers.json", content)
    return {}


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))
