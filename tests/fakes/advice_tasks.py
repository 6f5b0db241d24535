"""The labelled tasks of ``data/advice_tasks.tsv``: kind, language, text; labels were set before anything was tuned.

A third is held out by a hash of the text. Whoever tunes the words never looks at it: only at how many are right.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

PLACE = Path(__file__).parents[1] / "data" / "advice_tasks.tsv"


class Labelled(NamedTuple):
    """One task as somebody might write it."""

    kind: str
    language: str
    text: str
    held_out: bool


def held_out(text: str) -> bool:
    """Whether a task belongs to the third that is never looked at."""
    return hashlib.sha256(text.encode()).digest()[0] % 3 == 0


def read_tasks() -> list[Labelled]:
    """Return all of them, in the file's order."""
    found = []
    for line in PLACE.read_text(encoding="utf-8").splitlines():
        kind, language, text = line.split("\t")
        found.append(Labelled(kind, language, text.replace("\\n", "\n"), held_out(text)))
    return found
