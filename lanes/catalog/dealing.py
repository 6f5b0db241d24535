"""Free and cheap models of the catalogue, those that are for text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .listing import Listed

FREE, CHEAP = 10, 6
"""How many of each are shown."""

_OTHER = re.compile(
    r"(?<![a-z])(guard|safety|safeguard|moderation|embed|embedding|embeddings|rerank|reranker|audio|speech|voice|tts|stt"
    r"|asr|whisper|transcribe|image|imagine|vision-gen|video|music|ocr|translate|reward)(?![a-z])"
)
"""Words of an id that tell of a model that does not answer in text, or not to a task."""


def for_text(model: Listed) -> bool:
    """Whether an id looks like that of a model that can be given a task."""
    return _OTHER.search(model.id.lower()) is None


def free(models: Iterable[Listed], most: int = FREE) -> list[Listed]:
    """Return the newest models whose prices are both known to be zero."""
    found = [one for one in models if one.free and for_text(one)]
    return sorted(found, key=lambda one: (-(one.created or 0.0), one.id))[:most]


def cheap(models: Iterable[Listed], most: int = CHEAP) -> list[Listed]:
    """Return the cheapest models that cost something, by what a million tokens in and a fifth of it out cost."""
    found = [(one, price) for one in models if for_text(one) and (price := _blend(one))]
    return [one for one, _ in sorted(found, key=lambda row: (row[1], row[0].id))[:most]]


def _blend(model: Listed) -> float | None:
    if model.prompt is None or model.completion is None:
        return None
    return model.prompt + model.completion / 5
