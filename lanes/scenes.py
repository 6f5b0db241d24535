"""How a lane is led to a model server of ours, in a home of its own: for a rehearsal without an account. Pure.

Only those that allow it: each was seen to work this way, in the version that it was tested with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

MODEL = "scripted-model"
KEY = "a-made-up-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a lane finds: its environment, files below the home, the word for the model."""

    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Path below the home → content."""
    model: str | None = MODEL
    keeps_cache: bool = False
    """It unpacks itself into its cache (copilot: 230 MB): the person's own is used."""
    spent_status: int = 429
    """The HTTP status by which its service tells that nothing is left."""


ACP = "acp:"
ACP_AGENTS = frozenset({"gemini", "qwen", "opencode", "copilot"})
"""Programs that find our server the same way when they are spoken to over ACP."""


def scene(lane: str, url: str, *, spent: bool = False) -> Scene | None:
    """Return the scene for ``lane`` with a server at ``url`` (no path), or None where there is none.

    ``spent``: for one who has a plan, where that is another sign-in than a key.
    """
    if lane.startswith(ACP):
        program = lane.removeprefix(ACP).partition(" ")[0].rpartition("/")[2]
        found = _scenes(url)[program] if program in ACP_AGENTS else None
        # Gemini CLI asks a model which model to ask, unless it is told.
        return replace(found, model=None) if found is not None and program != "gemini" else found
    if spent and lane == "claude":
        return Scene(environment={"ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_OAUTH_TOKEN": KEY}, model="claude-sonnet-5")
    return _scenes(url).get(lane)


def _scenes(url: str) -> Mapping[str, Scene]:
    api = f"{url}/v1"
    openrouter = Scene(environment={"OSRC_OPENROUTER_URL": url, "OPENROUTER_API_KEY": KEY}, spent_status=402)
    openai = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": api, "OPENAI_MODEL": MODEL}
    google = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url, "OSRC_GEMINI_VEHICLE": "gemini"}
    google |= {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
    copilot = {"COPILOT_PROVIDER_BASE_URL": api, "COPILOT_PROVIDER_API_KEY": KEY, "COPILOT_OFFLINE": "true"}
    copilot |= {"COPILOT_MODEL": MODEL}
    return {
        "cc": openrouter,
        "codexor": openrouter,
        "claude": Scene(environment={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}, model="claude-sonnet-5"),
        "codex": Scene(
            environment={"OSRC_CODEX_USER_CONFIG": "1", "SCRIPTED_KEY": KEY},
            files={".codex/config.toml": _codex(api)},
        ),
        "gemini": Scene(
            environment=google,
            files={".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}})},
            model="gemini-3.8-flash",
        ),
        "qwen": Scene(environment=openai, model=None),
        "copilot": Scene(environment=copilot, keeps_cache=True),
        "droid": Scene(
            # Of a 429 it thinks that it passes, and tries for a minute and a half.
            files={".factory/settings.json": _droid(api)},
            model="custom:Scripted-0",
            spent_status=402,
        ),
        "pi": Scene(
            environment={"PI_OFFLINE": "1"}, files={".pi/agent/models.json": _pi(api)}, model=f"scripted/{MODEL}"
        ),
        "opencode": Scene(files={".config/opencode/opencode.json": _opencode(api)}, model=f"scripted/{MODEL}"),
        "cline": Scene(files={".cline/data/settings/providers.json": _cline(api)}),
        "claudex": Scene(environment={"OSRC_CLAUDEX_URL": url, "OSRC_CLAUDEX_TOKEN": KEY}, model=None),
        "local": Scene(environment={"OSRC_LOCAL_URL": api}, spent_status=402),
        "tokenrouter": Scene(environment={"OSRC_TOKENROUTER_URL": api, "TOKENROUTER_API_KEY": KEY}, spent_status=402),
    }


def _codex(api: str) -> str:
    rows = {"name": "scripted", "base_url": api, "env_key": "SCRIPTED_KEY", "wire_api": "responses"}
    table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in rows.items())
    return f'model_provider = "scripted"\n\n[model_providers.scripted]\n{table}\n'


def _droid(api: str) -> str:
    model = {"model": MODEL, "displayName": "Scripted", "id": "custom:Scripted-0", "index": 0, "baseUrl": api}
    model |= {"apiKey": KEY, "provider": "generic-chat-completion-api", "maxOutputTokens": 8192}
    return json.dumps({"customModels": [model]})


def _pi(api: str) -> str:
    model = {"id": MODEL, "name": "Scripted", "reasoning": False, "input": ["text"], "contextWindow": 200_000}
    model |= {"maxTokens": 8192, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
    provider = {"baseUrl": api, "api": "openai-completions", "apiKey": KEY, "models": [model]}
    return json.dumps({"providers": {"scripted": provider}})


def _opencode(api: str) -> str:
    model = {"name": "Scripted", "limit": {"context": 200_000, "output": 8192}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Scripted", "models": {MODEL: model}}
    chosen = {"model": f"scripted/{MODEL}", "small_model": f"scripted/{MODEL}"}
    rows = {"scripted": {**provider, "options": {"baseURL": api, "apiKey": KEY}}}
    return json.dumps({**chosen, "provider": rows})


def _cline(api: str) -> str:
    settings = {"provider": "openai-compatible", "apiKey": KEY, "baseUrl": api, "model": MODEL}
    row = {"settings": settings, "updatedAt": "2026-11-30T00:00:00.000Z", "tokenSource": "manual"}
    return json.dumps({"version": 1, "lastUsedProvider": "openai-compatible", "providers": {"openai-compatible": row}})
