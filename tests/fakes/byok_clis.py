"""The real Droid, GitHub Copilot CLI and pi in a world of :mod:`fakes.real_clis`: each asks a model of one's own."""

from __future__ import annotations

import json
from pathlib import Path

from fakes.real_clis import World, folder

MODELS = {"droid": "custom:Stub-0", "copilot": "stub-model", "pi": "stub/stub-model"}
"""What is said with ``-m``. The model server is asked for ``stub-model``."""


def why_absent(name: str) -> str | None:
    """The reason to skip, or None when the CLI is there."""
    there = (folder() / "bin" / name).exists()
    return None if there else f"{name} not in {folder()}/bin: run tests/install_clis.sh"


def sign_in(world: World, lane: str) -> dict[str, str]:
    """Set a lane's CLI up in the world's home; return the environment that goes with it."""
    home, url = world.root / "home", f"{world.server.url}/v1"
    if lane == "copilot":
        # It unpacks 230 MB into its cache: once for all tests, beside its package.
        cache = {"XDG_CACHE_HOME": str(folder() / "copilot" / "cache"), "COPILOT_OFFLINE": "true"}
        return {"COPILOT_PROVIDER_BASE_URL": url, "COPILOT_PROVIDER_API_KEY": "test"} | cache
    if lane == "droid":
        model = {"model": "stub-model", "displayName": "Stub", "id": "custom:Stub-0", "index": 0, "baseUrl": url}
        model |= {"apiKey": "test", "provider": "generic-chat-completion-api", "maxOutputTokens": 8192}
        write(home / ".factory" / "settings.json", {"customModels": [model]})
        return {}
    model = {"id": "stub-model", "name": "Stub", "reasoning": False, "input": ["text"], "contextWindow": 200_000}
    model |= {"maxTokens": 8192, "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}}
    provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "test", "models": [model]}
    write(home / ".pi" / "agent" / "models.json", {"providers": {"stub": provider}})
    return {"PI_OFFLINE": "1"}


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))
