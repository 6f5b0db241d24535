"""Every real CLI of the tests, signed in to a world's scripted server."""

from __future__ import annotations

from types import ModuleType

import pytest
from fakes import byok_clis, google_clis, provider_clis
from fakes.real_clis import CLAUDE_MODEL, CODEX_MODEL, World

MODELS = {
    "claude": CLAUDE_MODEL,
    "codex": CODEX_MODEL,
    "gemini": google_clis.GEMINI_MODEL,
    "qwen": google_clis.QWEN_MODEL,
    **byok_clis.MODELS,
    **provider_clis.MODELS,
}
"""Lane → what is said with ``-m``."""

_MODULES: dict[str, ModuleType] = {
    **dict.fromkeys(("gemini", "qwen"), google_clis),
    **dict.fromkeys(byok_clis.MODELS, byok_clis),
    **dict.fromkeys(provider_clis.MODELS, provider_clis),
}


def sign_in(world: World, lane: str) -> dict[str, str]:
    """Set a lane's CLI up in the world's home and return the environment that goes with it; skip where it is absent."""
    if lane in ("claude", "codex"):
        return {}
    module = _MODULES[lane]
    if (reason := module.why_absent(lane)) is not None:
        pytest.skip(reason)
    prepare = module.set_up if module is provider_clis else module.sign_in
    return dict(prepare(world, lane))
