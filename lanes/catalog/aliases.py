"""Model words, as data: aliases, families, models that two lanes serve, each lane's own default."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from ...messages.vocabulary import Tier


@dataclass(frozen=True, slots=True)
class Alias:
    """What one word stands for."""

    model: str
    """The id that is sent."""
    lane: str
    tier: Tier
    use: Literal["text", "image"] = "text"


def _rows(lane: str, *rows: tuple[str, str, Tier]) -> dict[str, Alias]:
    return {word: Alias(model, lane, tier) for words, model, tier in rows for word in words.split()}


ALIASES: Mapping[str, Alias] = {
    **_rows(
        "claude",
        ("fable", "fable", Tier.FRONTIER),
        ("opus", "opus", Tier.FRONTIER),
        ("sonnet", "sonnet", Tier.MID),
        ("haiku", "haiku", Tier.BUDGET),
        ("claude-opus-4-8", "claude-opus-4-8", Tier.FRONTIER),
        ("claude-opus-5", "claude-opus-5", Tier.FRONTIER),
        ("claude-fable-5", "claude-fable-5", Tier.FRONTIER),
        ("claude-fable-5-1", "claude-fable-5-1", Tier.FRONTIER),
        ("claude-sonnet-5", "claude-sonnet-5", Tier.MID),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5-20251001", Tier.BUDGET),
    ),
    **_rows(
        "codex",
        ("sol gpt-5.6-sol", "gpt-5.6-sol", Tier.FRONTIER),
        ("terra gpt-5.6-terra", "gpt-5.6-terra", Tier.FRONTIER),
        ("luna gpt-5.6-luna", "gpt-5.6-luna", Tier.MID),
        ("gpt-5.5", "gpt-5.5", Tier.FRONTIER),
    ),
    **_rows(
        "cc",
        ("glm z-ai/glm-5.2", "z-ai/glm-5.2", Tier.CAPABLE),
        ("hy3 tencent/hy3:free", "tencent/hy3:free", Tier.CAPABLE),
        ("deepseek deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-pro", Tier.CAPABLE),
    ),
    **_rows(
        "devin",
        ("glm-5.2 glm-5-2", "glm-5.2", Tier.CAPABLE),
        ("glm-5.3 glm-5-3", "glm-5-3", Tier.CAPABLE),
        ("glm-5.3-high", "glm-5-3-high", Tier.CAPABLE),
        ("glm-5.3-flash", "glm-5-3-flash", Tier.CAPABLE),
        ("glm-5.3-flash-high", "glm-5-3-flash-high", Tier.CAPABLE),
        ("swe swe-1.7 swe-1-7", "swe-1.7", Tier.CAPABLE),
        ("swe-1.7-lightning", "swe-1.7-lightning", Tier.MID),
        ("kimi kimi-k3", "kimi-k3", Tier.CAPABLE),
        ("kimi-k2.7", "kimi-k2.7", Tier.CAPABLE),
    ),
    **_rows(
        "gemini",
        ("gemini-pro", "gemini-pro", Tier.FRONTIER),
        ("gemini-flash", "gemini-flash", Tier.MID),
        ("gemini-flash-lite", "gemini-flash-lite", Tier.BUDGET),
    ),
    "nano-banana": Alias("nano-banana", "gemini", Tier.BUDGET, "image"),
    **{
        word: Alias("gpt-image-2", "codex", Tier.BUDGET, "image")
        for word in ("gpt-image", "codex-image", "gpt-image-2")
    },
}

LOCAL_PREFIXES = ("ollama:", "lmstudio:", "lms:", "local:")
"""``PREFIXNAME`` is the model NAME of the server on this machine, whatever else was said."""

FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("claude", ("claude-*", "opus*", "fable*", "sonnet*", "haiku*")),
    ("codex", ("gpt-*", "sol-*", "terra-*", "luna-*", "o[0-9]-*", "o[0-9]", "*-codex")),
    ("gemini", ("gemini-*",)),
)
"""Lane → globs of model ids that are not in the table; the first family that matches is meant."""

MODEL = re.compile(r"[A-Za-z0-9_.~/@+][A-Za-z0-9_.:/~+@ -]{0,1023}(\[[A-Za-z0-9]{1,16}\])?")
"""What may be a model's name: it never starts with a dash, and holds nothing that a shell would read."""


@dataclass(frozen=True, slots=True)
class Dual:
    """One model that is had on a Devin plan and over OpenRouter."""

    devin: str
    openrouter: str


DUAL: Mapping[str, Dual] = {
    "glm": Dual("glm-5.2", "z-ai/glm-5.2"),
    "deepseek": Dual("deepseek-v4-pro", "deepseek/deepseek-v4-pro"),
    "kimi": Dual("kimi-k3", "moonshotai/kimi-k3"),
}
"""Word → its two ids. Words like ``glm-5.2`` or ``z-ai/glm-5.2`` say which one is meant."""

DEFAULT_MODELS: Mapping[str, str] = {
    "cc": "z-ai/glm-5.2",
    "codexor": "z-ai/glm-5.2",
    "claudex": "gpt-5.6-sol",
    "devin": "glm-5.2",
}
"""Lane → the id that is sent when none was named; a lane that is not here leaves it to its CLI."""


def family_of(model: str) -> str | None:
    """Return the lane that a model's name alone points to, or None."""
    name = model.lower()
    return next((lane for lane, globs in FAMILIES if any(fnmatchcase(name, glob) for glob in globs)), None)
