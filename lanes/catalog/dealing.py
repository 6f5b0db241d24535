"""Free and cheap models of the catalogue, those that are for text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .listing import Listed

FREE, CHEAP = 10, 6
"""How many of each are shown."""

_TEXT = frozenset({"text"})


def _words(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z])({words})(?![a-z])")


_NO_TASK = _words(
    "guard|safety|safeguard|moderation|embed|embedding|embeddings|rerank|reranker|asr|whisper|transcribe|ocr|translate"
    "|reward"
)
"""Words of an id that tell of a model that may answer in text, but not to a task."""
_NO_TEXT = _words("audio|speech|voice|tts|stt|image|imagine|vision-gen|video|music")
"""Words of an id that tell of a model that answers in something else, where the catalogue does not say in what."""


def for_text(model: Listed) -> bool:
    """Whether a model can be given a task in text and answers in text alone, as far as the catalogue tells."""
    name = model.id.lower()
    if _NO_TASK.search(name) is not None or (model.inputs is not None and not model.inputs >= _TEXT):
        return False
    return _NO_TEXT.search(name) is None if model.outputs is None else model.outputs == _TEXT


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
