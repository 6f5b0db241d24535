"""Capability class of a model by its name, for names that no table has."""

from __future__ import annotations

import re

from ...messages.vocabulary import Tier

SMALL = ("mini", "lite", "nano", "tiny", "micro", "haiku", "swe")
"""Words of a name that say "small"; they outrank its family."""

OPEN_WEIGHT = ("glm", "deepseek", "kimi", "qwen", "minimax", "hunyuan", "llama-4", "mistral-large")
_HY = re.compile(r"\bhy\d")

PREMIUM = ("opus", "fable", "gpt-5.5", "gpt-5.6", "gpt-6", "astra", "sol", "terra", "o1-pro", "o3-pro")

_WORD = re.compile(r"[a-z0-9.]+")


def tier_of(model: str) -> Tier | None:
    """Return the tier that a model's name suggests, or None."""
    name = model.lower().rpartition("/")[2]
    words = _WORD.findall(name)
    if any(word in words for word in SMALL):
        return Tier.BUDGET
    if _HY.search(name) or any(family in name for family in OPEN_WEIGHT):
        return Tier.CAPABLE
    if any(word in words if "-" not in word else word in name for word in PREMIUM) or name.startswith("gpt-6"):
        return Tier.FRONTIER
    return Tier.BUDGET if name.endswith(":free") else None
