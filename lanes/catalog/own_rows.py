"""The person's own models: ``models.local`` in the state home, one ``alias|id|lane|tier`` a line. Pure.

    fast | z-ai/glm-5.3-air | cc | budget
    # the lane may be a lane's name or the predecessor's code for it (dv, or, cx ...)

Its rows stand in front of the built-in table. A row that can't be used is a sentence, never a silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...messages.vocabulary import Tier
from .aliases import MODEL, Alias, family_of
from .providers import SYNONYMS

ROWS_CAP = 2000
_IMAGES = frozenset({"gi", "ci"})


@dataclass(frozen=True, slots=True)
class OwnModels:
    """What the file says, and what was wrong with it."""

    rows: Mapping[str, Alias] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def parse(content: str, lanes: Iterable[str], source: str = "models.local") -> OwnModels:
    """Return the rows of the file; ``lanes`` are the lanes that exist. The first row of an alias counts."""
    known = frozenset(lanes)
    rows: dict[str, Alias] = {}
    problems: list[str] = []
    for number, line in enumerate(content.splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        if len(rows) + len(problems) >= ROWS_CAP:
            problems.append(f"{source}:{number}: more than {ROWS_CAP} rows; the rest is not read")
            break
        found = _row(text, known)
        if isinstance(found, str):
            problems.append(f"{source}:{number}: {found}")
        elif found[0] in rows:
            problems.append(f"{source}:{number}: {found[0]} was said before; the first row counts")
        else:
            rows[found[0]] = found[1]
    return OwnModels(rows, tuple(problems))


def _row(text: str, lanes: frozenset[str]) -> tuple[str, Alias] | str:
    """Return the alias and what it stands for, or what is wrong."""
    parts = [part.strip() for part in text.split("|")]
    if len(parts) != 4:
        return f"{len(parts)} fields; a row is alias|id|lane|tier"
    word, model, lane_word, tier_word = parts
    for name in (word, model):
        if not MODEL.fullmatch(name):
            return f"{name[:40]!r} is no model name"
    lane = lane_of(lane_word.lower(), model)
    if lane_word.lower() in _IMAGES:
        return word, Alias(model, "gemini" if lane_word.lower() == "gi" else "codex", Tier.BUDGET, "image")
    if lane not in lanes:
        return f"there is no lane {lane_word[:40]!r}"
    if tier_word.lower() not in set(Tier):
        return f"{tier_word[:40]!r} is no tier; there are {', '.join(Tier)}"
    return word, Alias(model, lane, Tier(tier_word.lower()))


def lane_of(word: str, model: str) -> str:
    """Return the lane that a word of the file means.

    The predecessor's file used ``cc`` for Claude Code on the person's own sign-in, here it is Claude Code
    over OpenRouter: the model tells which is meant, for OpenRouter's ids have their vendor before a slash.
    """
    if word == "cc" and "/" not in model and family_of(model) == "claude":
        return "claude"
    return SYNONYMS.get(word, word)
