"""Each real CLI in a world of :mod:`fakes.real_clis`: set up as its user would, with the scripted server as its model."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.real_clis import CLAUDE_MODEL, CODEX_MODEL, World, folder, why_absent

GEMINI_MODEL = "gemini-3.8-flash"
MODELS = {
    "claude": CLAUDE_MODEL,
    "codex": CODEX_MODEL,
    "gemini": GEMINI_MODEL,
    "qwen": "stub-model",
    "opencode": "stub/stub-model",
    "cline": "stub-model",
    "droid": "custom:Stub-0",
    "copilot": "stub-model",
    "pi": "stub/stub-model",
}
"""What is said with ``-m``. Where it names a stub, the model server is asked for ``stub-model``."""
MCP_SERVER = Path(__file__).parent / "fake_mcp_server.py"


def sign_in(world: World, lane: str) -> dict[str, str]:
    """Set a lane's CLI up in the world's home; return the environment that goes with it. Skips where it is absent."""
    reason = why_absent(lane)
    if reason is not None:
        pytest.skip(reason)
    return _SETUPS[lane](world.root / "home", world.server.url)


def _nothing(_home: Path, _url: str) -> dict[str, str]:
    """Claude Code and Codex: the world itself is made for them."""
    return {}


def _gemini(home: Path, url: str) -> dict[str, str]:
    # A base URL in the environment alone means a gateway to 0.61.0, which has no headless sign-in.
    _write(home / ".gemini" / "settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}})
    # It starts itself a second time for more memory; once is enough here, and faster.
    return {"GEMINI_API_KEY": "test", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_NO_RELAUNCH": "true"}


def _qwen(_home: Path, url: str) -> dict[str, str]:
    told = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": MODELS["qwen"]}
    return told | {"QWEN_CODE_NO_RELAUNCH": "true"}  # as Gemini CLI, of which it is made


def _opencode(home: Path, url: str) -> dict[str, str]:
    model = {"name": "Stub", "limit": {"context": 200_000, "output": 8192}}
    provider: dict[str, Any] = {"npm": "@ai-sdk/openai-compatible", "name": "Stub", "models": {"stub-model": model}}
    provider["options"] = {"baseURL": f"{url}/v1", "apiKey": "test"}
    chosen = {"model": "stub/stub-model", "small_model": "stub/stub-model"}
    mine = {"mine": {"type": "local", "command": [sys.executable, str(MCP_SERVER)], "enabled": True}}
    config = chosen | {"provider": {"stub": provider}, "mcp": mine}
    _write(home / ".config" / "opencode" / "opencode.json", config)
    # Half of a start is reading the catalogue of all models, and asking for a newer one.
    _write(home / ".config" / "models.json", {})
    return {"OPENCODE_MODELS_PATH": str(home / ".config" / "models.json"), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _cline(home: Path, url: str) -> dict[str, str]:
    settings = {"provider": "openai-compatible", "apiKey": "test", "baseUrl": f"{url}/v1", "model": "stub-model"}
    row = {"settings": settings, "updatedAt": "2026-11-30T00:00:00.000Z", "tokenSource": "manual"}
    content = {"version": 1, "lastUsedProvider": "openai-compatible", "providers": {"openai-compatible": row}}
    place = home / ".cline" / "data" / "settings"
    _write(place / "providers.json", content)
    servers = {"mine": {"command": sys.executable, "args": [str(MCP_SERVER)]}}
    _write(place / "cline_mcp_settings.json", {"mcpServers": servers})
    return {}


def _droid(home: Path, url: str) -> dict[str, str]:
    model = {"model": "stub-model", "displayName": "Stub", "id": "custom:Stub-0", "index": 0, "baseUrl": f"{url}/v1"}
    model |= {"apiKey": "test", "provider": "generic-chat-completion-api", "maxOutputTokens": 8192}
    # Without a network it would wait for its cloud, five seconds of each run, to take the session.
    _write(home / ".factory" / "settings.json", {"customModels": [model], "cloudSessionSync": False})
    _write(home / ".factory" / "mcp.json", _servers("mine", home))
    return {}


def _copilot(home: Path, url: str) -> dict[str, str]:
    _write(home / ".copilot" / "mcp-config.json", _servers("mine", home))
    # It unpacks 230 MB into its cache: once for all tests, beside its package.
    cache = {"XDG_CACHE_HOME": str(folder() / "copilot" / "cache"), "COPILOT_OFFLINE": "true"}
    return {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "test"} | cache


def _pi(home: Path, url: str) -> dict[str, str]:
    model = {"id": "stub-model", "name": "Stub", "reasoning": False, "input": ["text"], "contextWindow": 200_000}
    model |= {"maxTokens": 8192, "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}}
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "test", "models": [model]}
    _write(home / ".pi" / "agent" / "models.json", {"providers": {"stub": provider}})
    return {"PI_OFFLINE": "1"}


def _servers(name: str, home: Path) -> dict[str, Any]:
    """A server of the person's, which leaves ``ran-NAME`` in their home when it is started."""
    words = ["-I", str(MCP_SERVER), str(home / f"ran-{name}")]
    row = {"type": "stdio", "command": sys.executable, "args": words, "tools": ["*"]}
    return {"mcpServers": {name: row}}


_SETUPS: dict[str, Callable[[Path, str], dict[str, str]]] = {
    "claude": _nothing,
    "codex": _nothing,
    "gemini": _gemini,
    "qwen": _qwen,
    "opencode": _opencode,
    "cline": _cline,
    "droid": _droid,
    "copilot": _copilot,
    "pi": _pi,
}


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def bwrap_folder() -> str | None:
    """Where a bubblewrap is that works here, or None."""
    program = shutil.which("bwrap")
    if program is None:
        return None
    words = (program, "--unshare-user", "--cap-drop", "ALL", "--dev-bind", "/", "/", "true")
    works = subprocess.run(words, check=False, capture_output=True).returncode == 0
    return str(Path(program).parent) if works else None
