"""What the shape of a task says: fences, stack traces, paths, identifiers, commands. Linear time, no I/O."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

HEAD, TAIL = 3_000, 1_000
"""Characters that are read of a long task: who it is for stands at its beginning, what is wanted often at its end."""

_MARKS = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+){0,3}")
_FENCE = re.compile(r"```[^\n]{0,40}\n?(.*?)(?:```|\Z)", re.DOTALL)

_SHAPES: tuple[tuple[str, float, re.Pattern[str]], ...] = (
    (
        "stack trace",
        5.0,
        re.compile(
            r"Traceback \(most recent|^\s{0,8}at [\w.$]{3,120}\(|\bFile \"[^\"\n]{1,200}\", line \d"
            r"|\b[A-Z]\w{2,40}(?:Error|Exception)\b|^error\[E\d{4}\]|^panic: ",
            re.MULTILINE,
        ),
    ),
    ("error text", 3.0, re.compile(r"\b(?:npm ERR!|TS\d{4}|E\d{4}\b|undefined reference|-W[a-z][a-z-]{3,40}|error: )")),
    (
        "path",
        2.5,
        re.compile(
            r"(?<![\w/.-])[\w@~][\w@~-]{0,60}(?:[/.][\w@-]{1,60}){0,12}\."
            r"(?:py|pyi|js|jsx|ts|tsx|go|rs|c|h|cc|cpp|hpp|cu|java|kt|rb|php|cs|swift|sh|sql|vue|svelte|css|scss|html"
            r"|ya?ml|toml|json|proto|ipynb|lock|cfg|ini|tf|gradle|ex|exs|hs|lua|pl|scala|zig)\b(?!\.\w)"
        ),
    ),
    ("folder", 2.0, re.compile(r"(?<![\w/.:-])[\w@~][\w.-]{1,40}(?:/[\w.-]{1,40}){0,8}/(?=[\s,.;)]|\Z)")),
    ("line number", 1.5, re.compile(r"\bline \d{1,6}\b|\.\w{1,4}:\d{1,6}\b")),
    ("call", 2.0, re.compile(r"\b[A-Za-z_]\w{1,60}\(\w{0,30}\)|\b\w{2,40}::\w{2,40}")),
    (
        "identifier",
        2.0,
        re.compile(r"\b[a-z][a-z0-9]{0,40}(?:_[a-z0-9]{1,40}){1,8}\b|\b[a-z]{2,30}(?:[A-Z][a-z0-9]{1,30}){1,6}\b"),
    ),
    ("type name", 1.5, re.compile(r"\b(?:[A-Z][a-z0-9]{1,30}){2,6}\b")),
    ("route", 2.0, re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) /|(?<![\w/])/api\b|(?<!\w):\d{4,5}\b")),
    ("query", 2.5, re.compile(r"\bSELECT\b.{1,200}\bFROM\b|\bALTER TABLE\b|\bCREATE TABLE\b", re.DOTALL)),
    ("option", 1.5, re.compile(r"(?<![\w-])--[a-z][a-z-]{1,30}\b")),
    ("code span", 1.5, re.compile(r"`[^`\n]{2,200}`")),
)
"""Name, weight for code, pattern. Every repetition is bounded, so that no text takes long."""

_CJK = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_SUM = re.compile(r"\A[\s\d.,()+*/x\u00d7\u00f7^%=?-]{3,80}\Z")


@dataclass(frozen=True, slots=True)
class Shape:
    """A task as it is laid out."""

    folded: str
    """Its own words, lower case and without accents, one space between; what stands in fences is left out."""
    words: tuple[str, ...]
    count: int
    """How many words there are; scripts without spaces have one for every two signs."""
    fences: int
    signs: tuple[tuple[str, float, str], ...]
    """What was found of ``_SHAPES``: its name, its weight, an excerpt."""
    length: int
    """Characters of the whole task."""
    question: bool
    items: int
    """Lines that begin like those of a list."""
    sum: bool
    """Whether it is nothing but arithmetic."""


def fold(text: str) -> str:
    """Return the text in lower case, without accents and with plain apostrophes."""
    plain = unicodedata.normalize("NFD", text.lower().replace("\u2019", "'").replace("ß", "ss"))
    return unicodedata.normalize("NFC", _MARKS.sub("", plain))


def read(task: str) -> Shape:
    """Return how a task is laid out. Of a long one, the beginning and the end are read."""
    seen = task if len(task) <= HEAD + TAIL else f"{task[:HEAD]}\n{task[-TAIL:]}"
    fences = len(_FENCE.findall(seen))
    prose = _FENCE.sub(" ", seen)
    signs = []
    for name, weight, pattern in _SHAPES:
        found = pattern.search(seen)
        if found is not None:
            signs.append((name, weight, " ".join(found[0].split())[:40]))
    words = tuple(_WORD.findall(fold(prose)))
    return Shape(
        folded=" ".join(words).replace("-", " "),
        words=words,
        count=len(words) + len(_CJK.findall(prose)) // 2,
        fences=fences,
        signs=tuple(signs),
        length=len(task),
        question="?" in prose or "\uff1f" in prose,
        items=sum(line.lstrip()[:2] in ("- ", "* ", "1.", "2.", "3.", "4.") for line in prose.splitlines()),
        sum=_SUM.fullmatch(seen) is not None and any(sign.isdigit() for sign in seen),
    )
