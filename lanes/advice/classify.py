"""What kind of work a task is, how hard, and what says so: a pure function, no network, no model.

    classify("fix the crash in src/parser.py")  ->  Classified(kind=CODE, difficulty="normal", ...)

Every word of the tables counts by its stem and every sign of structure by its weight; what was seen is the evidence.
Words stand for themselves, never for a part of another: *important* holds no *import*. What the tables come to, and
the task's words and shape, are then weighed as many labelled tasks taught (``learned.py``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from .features import features
from .learned import chances
from .structure import Shape, fold, read
from .words import CJK, CREATE, EASY, HARD, MAKE, PHRASES, REASON, RUN, TECH


class Kind(StrEnum):
    """The kinds of work that models differ in. Of equal scores, the first wins."""

    CODE = "code"
    REASONING = "reasoning"
    AGENTIC = "agentic"
    CREATIVE = "creative"
    SIMPLE = "simple"


Difficulty = Literal["easy", "normal", "hard"]
WORDS_READ = 1000
"""Words that are looked up: what kind of work a longer task is, they have said."""
_SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """What a task is."""

    kind: Kind
    difficulty: Difficulty
    confidence: float
    """From 0 to 1: how far the kind is ahead of the next one."""
    frontier: bool
    """Whether the task itself asks for the strongest model there is."""
    scores: Mapping[Kind, float]
    """What the tables alone came to."""
    evidence: tuple[str, ...]
    """What spoke for the kind, strongest first."""


def classify(task: str) -> Classified:
    """Return what kind of work ``task`` is. Deterministic; linear in its length."""
    shape = read(task)
    seen = look(shape)
    scores = table_scores(shape, seen)
    found = dict(zip(Kind, chances(features(shape, list(scores.values())), len(Kind)), strict=True))
    ranked = sorted(Kind, key=lambda kind: -found[kind])
    confidence = round(found[ranked[0]] - found[ranked[1]], 2)
    return Classified(
        kind=ranked[0],
        difficulty=_difficulty(shape, seen, ranked[0]),
        confidence=confidence,
        frontier=bool(seen["frontier"]),
        scores={kind: round(scores[kind], 2) for kind in Kind},
        evidence=_evidence(shape, seen, ranked[0]),
    )


Seen = dict[str, dict[str, float]]
"""Kind of word → what was seen of it, with its weight."""


class _Stems:
    """Words and stems of every table with their weights; of one table, the longest that fits counts."""

    def __init__(self, tables: Mapping[str, Mapping[float, str]]) -> None:
        self.whole: dict[str, dict[str, float]] = {}
        self.stems: dict[str, dict[str, float]] = {}
        for name, table in tables.items():
            for weight, words in table.items():
                for word in words.split():
                    place = self.stems if word.endswith("*") else self.whole
                    place.setdefault(fold(word.rstrip("*")), {}).setdefault(name, weight)
        self.longest = max(map(len, self.stems))

    def weights(self, word: str) -> dict[str, float]:
        """Return what a word weighs in each table that knows it."""
        found = dict(self.whole.get(word, ()))
        for end in range(min(len(word), self.longest), _SHORTEST_STEM - 1, -1):
            stem = self.stems.get(word[:end])
            if stem is not None:
                found = {**stem, **found}
        return found


_STEMS = _Stems(
    {"tech": TECH, "make": MAKE, "run": RUN, "reason": REASON, "create": CREATE, "easy": EASY, "hard": HARD}
)
_PHRASES = tuple(
    (name, weight, re.compile(rf"(?<!\w)(?:{'|'.join(' '.join(one.split()) for one in fold(words).split('|'))})(?!\w)"))
    for name, weight, words in PHRASES
)
_UNSPACED = tuple((name, weight, tuple(fold(words).split())) for name, weight, words in CJK)
_CJK = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_NAMES = ("tech", "make", "run", "reason", "create", "easy", "hard", "loop", "web", "agentic", "frontier")


def look(shape: Shape) -> Seen:
    """Return every word and phrase of the tables that stands in the task, once each."""
    seen: Seen = {name: {} for name in _NAMES}
    for word in dict.fromkeys(shape.words[:WORDS_READ]):
        for part in (word, *word.split("-")) if "-" in word else (word,):
            for name, weight in _STEMS.weights(part).items():
                seen[name][word] = max(weight, seen[name].get(word, 0.0))
    text = shape.folded
    for name, weight, pattern in _PHRASES:
        for found in pattern.findall(text)[:20]:
            seen[name][found] = max(weight, seen[name].get(found, 0.0))
    if _CJK.search(text):
        for name, weight, words in _UNSPACED:
            seen[name].update({word: weight for word in words if word in text})
    return seen


def _total(seen: Mapping[str, float], most: float) -> float:
    """Return the sum of the weights, each further one counting for less, up to ``most``."""
    total = 0.0
    for place, weight in enumerate(sorted(seen.values(), reverse=True)):
        total += weight / (1.0 + 0.25 * place)
    return min(total, most)


def table_scores(shape: Shape, seen: Seen) -> dict[Kind, float]:
    """Return what the tables say of each kind, in the order of the kinds."""
    signs = _total({name: weight for name, weight, _ in shape.signs}, 9.0) + 3.0 * min(shape.fences, 2)
    tech, make = _total(seen["tech"], 8.0), _total(seen["make"], 3.0)
    run, loop = _total(seen["run"], 9.0), _total(seen["loop"], 5.0)
    reason, create = _total(seen["reason"], 12.0), _total(seen["create"], 12.0)
    easy = _total(seen["easy"], 9.0)
    technical = tech + signs
    lead = _lead(shape)
    acts = sum(weight >= 1.0 for weight in seen["run"].values())

    code = 0.8 * tech + signs + (make if technical else 0.3 * make) + (1.5 if lead == "make" and technical else 0.0)
    agentic = _total(seen["agentic"], 9.0) + _total(seen["web"], 6.0) + 0.7 * run
    agentic += loop if acts or seen["agentic"] else 0.3 * loop
    agentic += 1.0 * max(0, min(acts, 7) - 2) + (1.5 if lead == "run" else 0.0)
    reasoning = reason + (2.0 if lead == "reason" else 0.0)
    creative = create + (1.0 if lead == "make" and create >= 4 else 0.0)
    simple = _simple(shape, easy, technical, technical + reason + create + agentic)
    return {
        Kind.CODE: code,
        Kind.REASONING: reasoning,
        Kind.AGENTIC: agentic,
        Kind.CREATIVE: creative,
        Kind.SIMPLE: simple,
    }


def _simple(shape: Shape, easy: float, technical: float, others: float) -> float:
    """Return what speaks for a task that needs no thought: its words, and that it is short and plain."""
    if shape.sum:
        return 9.0
    count = shape.count
    short = 1.5 if count <= 6 else 1.0 if count <= 12 else 0.0
    plain = 1.0 if others < 1.0 else 0.0
    asked = 1.0 if shape.question and count <= 14 and technical < 2.0 else 0.0
    fades = 1.0 if count <= 16 else 0.6 if count <= 30 else 0.25
    return 1.0 + short + plain + asked + fades * easy / (1.0 + technical / 8.0) - (1.5 if shape.fences else 0.0)


def _lead(shape: Shape) -> str | None:
    """Return what kind of verb the task begins with, politeness aside."""
    for word in shape.words[:4]:
        weights = _STEMS.weights(word)
        for name, least in (("reason", 1.5), ("run", 1.5), ("make", 0.5)):
            if weights.get(name, 0.0) >= least:
                return name
    return None


def _difficulty(shape: Shape, seen: Seen, kind: Kind) -> Difficulty:
    """Return how hard a task is: by its length, its demands and the words that say so."""
    if kind is Kind.SIMPLE:
        return "easy"
    points = _total(seen["hard"], 6.0)
    points += min(len(shape.words) / 40.0, 3.0) + min(shape.items / 2.0, 2.0) + min(shape.fences, 1)
    points += 0.5 * (kind is Kind.AGENTIC) + 4.0 * bool(seen["frontier"])
    if points >= 3.5:
        return "hard"
    return "easy" if points < 0.75 and len(shape.words) <= 8 else "normal"


_SPEAKS: Mapping[Kind, tuple[str, ...]] = {
    Kind.CODE: ("tech", "make"),
    Kind.REASONING: ("reason",),
    Kind.AGENTIC: ("agentic", "web", "loop", "run"),
    Kind.CREATIVE: ("create",),
    Kind.SIMPLE: ("easy",),
}


def _evidence(shape: Shape, seen: Seen, kind: Kind) -> tuple[str, ...]:
    found = [(weight, word) for name in _SPEAKS[kind] for word, weight in seen[name].items()]
    if kind is Kind.CODE:
        found += [(weight + 1.0, f"{name}: {excerpt}") for name, weight, excerpt in shape.signs]
        found += [(4.0, "code fence")] if shape.fences else []
    if kind is Kind.SIMPLE and len(shape.words) <= 12:
        found.append((0.5, "short"))
    found.sort(key=lambda one: (-one[0], one[1]))
    return tuple(dict.fromkeys(word for _, word in found))[:6]
