"""Labelled tasks of seven writers, ``data/advice/*.tsv``: kind, language, text. All but two never saw the program.

``first`` and ``second`` also served to choose the words of the tables: of ``first`` the two thirds that a hash of the
text picks, of ``second`` all. A third of every other file is held out by the same hash. ``blind`` is one writer from
whom nothing at all is trained with; ``boundaries`` are tasks that were meant to be hard to tell apart.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "data" / "advice"
BLIND = "blind"
BOUNDARIES = "boundaries"
SEEN = frozenset({"second"})
"""Files of which nothing is held out any more."""


class Labelled(NamedTuple):
    """One task as somebody might write it."""

    kind: str
    language: str
    text: str
    writer: str
    held_out: bool


def held_out(text: str) -> bool:
    """Whether a task belongs to the third that is never trained with."""
    return hashlib.sha256(text.encode()).digest()[0] % 3 == 0


def read_tasks() -> list[Labelled]:
    """Return all of them, file by file."""
    found = []
    for path in sorted(FOLDER.glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines():
            kind, language, text = line.split("\t")
            out = path.stem == BLIND or (path.stem not in SEEN and held_out(text))
            found.append(Labelled(kind, language, text.replace("\\n", "\n"), path.stem, out))
    return found
