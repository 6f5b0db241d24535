"""The labelled answer pairs of ``data/answer_pairs.tsv``; labels were set before the rules were written."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

PLACE = Path(__file__).parents[1] / "data" / "answer_pairs.tsv"


class Pair(NamedTuple):
    """Two answers to one question, and what is right to say of them."""

    verdict: str
    contract: str
    question: str
    first: str
    second: str


def _plain(word: str) -> str:
    parts = word.split("\\\\")
    return "\\".join(part.replace("\\n", "\n").replace("\\t", "\t") for part in parts)


def read_pairs() -> list[Pair]:
    """Return all of them, in the file's order."""
    lines = PLACE.read_text(encoding="utf-8").splitlines()
    return [Pair(*map(_plain, line.split("\t"))) for line in lines if not line.startswith("#")]
