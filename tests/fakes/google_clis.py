"""The real Gemini CLI and Qwen Code in a world of :mod:`fakes.real_clis`: how each finds the scripted server."""

from __future__ import annotations

import json

from fakes.real_clis import World, folder

GEMINI_MODEL = "gemini-3.8-flash"
QWEN_MODEL = "stub-model"


def why_absent(name: str) -> str | None:
    """The reason to skip, or None when the CLI is there."""
    there = (folder() / "bin" / name).exists()
    return None if there else f"{name} not in {folder()}/bin: run tests/install_clis.sh"


def sign_in(world: World, lane: str) -> dict[str, str]:
    """Set a lane's CLI up in the world's home; return the environment that goes with it."""
    if lane == "qwen":
        return {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": f"{world.server.url}/v1", "OPENAI_MODEL": QWEN_MODEL}
    settings = world.root / "home" / ".gemini" / "settings.json"
    settings.parent.mkdir()
    # A base URL in the environment alone means a gateway to 0.61.0, which has no headless sign-in.
    settings.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
    return {
        "GEMINI_API_KEY": "test",
        "GOOGLE_GEMINI_BASE_URL": world.server.url,
        # It starts itself a second time for more memory; once is enough here, and faster.
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }
