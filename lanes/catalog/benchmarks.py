"""Benchmark scores of models as they were last fetched from OpenRouter. Pure.

Shape (public facts, 2026-11): ``GET /api/v1/benchmarks?source=artificial-analysis`` with any key gives
``{"data": [{"model_permaslug", "intelligence_index", "coding_index", "agentic_index"}]}``; an index is a
number, higher is better, or null.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ...messages.model_names import canonical
from ..values import as_number, as_object

QUERY = "source=artificial-analysis&max_results=100"
ROWS_CAP = 20_000
ID_CAP = 200
_HIGHEST = 1000.0
_SYMBOLS: Mapping[str, str] = {
    **{word: rf"claude-{word}-(?P<version>\d[\d-]*)" for word in ("opus", "sonnet", "haiku", "fable")},
    **{
        f"gemini-{word}": rf"gemini-(?P<version>\d[\d-]*)-{word}(?:-preview)?"
        for word in ("pro", "flash", "flash-lite")
    },
}
"""Words that stand for the newest model of a family → what its versions are called."""


@dataclass(frozen=True, slots=True)
class Scores:
    """One model's indexes; None is unknown."""

    id: str
    coding: float | None = None
    intelligence: float | None = None
    agentic: float | None = None


@dataclass(frozen=True)
class Benchmarks:
    """Scores by the model's key (``messages/model_names.py``)."""

    scores: Mapping[str, Scores] = field(default_factory=dict)

    @cached_property
    def _keys(self) -> list[str]:
        return sorted(self.scores)

    def of(self, key: str) -> Scores | None:
        """Return the scores of a model: its own, those of the newest it may stand for, or of its shortest longer name.

        >>> Benchmarks({"glm-5-2-air": Scores("z-ai/glm-5.2-air", 40.0)}).of("glm-5-2").coding
        40.0
        """
        if not key:
            return None
        found = self.scores.get(key)
        if found is not None:
            return found
        pattern = _SYMBOLS.get(key)
        if pattern is not None:
            return self._newest(re.compile(pattern))
        longer, place = [], bisect_left(self._keys, f"{key}-")
        while place < len(self._keys) and self._keys[place].startswith(f"{key}-"):
            longer.append(self._keys[place])
            place += 1
        return self.scores[min(longer, key=lambda name: (len(name), name))] if longer else None

    def _newest(self, pattern: re.Pattern[str]) -> Scores | None:
        versions = [(found, key) for key in self._keys if (found := pattern.fullmatch(key)) is not None]
        if not versions:
            return None
        return self.scores[max(versions, key=lambda one: (_numbers(one[0]["version"]), one[1]))[1]]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part[:9]) for part in version.split("-") if part.isdigit())


def parse(content: bytes) -> Benchmarks | None:
    """Return the scores; None where ``content`` is no answer of that service."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return None
    rows = as_object(data).get("data")
    if not isinstance(rows, list):
        return None
    found: dict[str, Scores] = {}
    for row in rows[:ROWS_CAP]:
        scores = _scores(as_object(row))
        if scores is not None:
            found.setdefault(canonical(scores.id), scores)
    return Benchmarks(found)


def _scores(row: Mapping[str, object]) -> Scores | None:
    name = row.get("model_permaslug")
    if not isinstance(name, str) or not 0 < len(name) <= ID_CAP or not name.isprintable() or " " in name:
        return None
    coding, intelligence, agentic = (_index(row.get(f"{word}_index")) for word in ("coding", "intelligence", "agentic"))
    if coding is None and intelligence is None and agentic is None:
        return None
    return Scores(name, coding, intelligence, agentic)


def _index(value: object) -> float | None:
    found = as_number(value)
    return found if found is not None and found <= _HIGHEST else None


def is_benchmarks(content: bytes) -> bool:
    """Whether ``content`` may replace cached scores: it holds some."""
    found = parse(content)
    return found is not None and bool(found.scores)
