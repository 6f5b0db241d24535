"""Neutral words for the violent metaphors of our trade, in prose alone.

Some services move a session to another model when a text sounds dangerous, and "kill the orphan, then attack the bug"
does. Whole words are swapped, each for one of the same form, capitals kept. Code is never touched: fenced and indented
blocks, ``inline code``, link targets, HTML tags, and whatever looks like a path, an option or an identifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .words import PLAIN, TECHNICAL


@dataclass(frozen=True, slots=True)
class Swap:
    """One word of a text and what would stand for it."""

    line: int
    """From 1."""
    word: str
    instead: str


def sanitize(text: str, *, aggressive: bool = False) -> tuple[str, tuple[Swap, ...]]:
    """Return ``text`` with neutral words, and what was swapped. Linear; without such words it comes back as it was."""
    swapper = _AGGRESSIVE if aggressive else _PLAIN
    lines: list[str] = []
    swaps: list[Swap] = []
    for number, (line, prose) in enumerate(_lines(text), 1):
        lines.append(swapper.line(line, number, swaps) if prose else line)
    return "".join(lines), tuple(swaps)


def guarded(text: str, *, guard: bool, aggressive: bool) -> str:
    """Return a text of our own as it may be sent to a session; the arguments are the settings ``vocab_guard*``."""
    return sanitize(text, aggressive=aggressive)[0] if guard else text


class _Swapper:
    """One list of words at work."""

    def __init__(self, words: Mapping[str, str]) -> None:
        listed = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
        self._words = words
        self._pattern = re.compile(rf"(?<![\w./\\@#$:=-])(?:{listed})(?![\w/\\@=(-]|[.:]\w)", re.IGNORECASE)

    def line(self, line: str, number: int, swaps: list[Swap]) -> str:
        """Return one line of prose with its words swapped, and add them to ``swaps``."""
        parts: list[str] = []
        at = 0
        for start, end in _prose(line):
            for match in self._pattern.finditer(line, start, end):
                instead = _cased(match[0], self._words[match[0].lower()])
                swaps.append(Swap(number, match[0], instead))
                parts += (line[at : match.start()], instead)
                at = match.end()
        return "".join([*parts, line[at:]]) if parts else line


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line and whether it is prose: not in a fence or front matter, not indented as code."""
    fence, blank, first = "", True, True
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        opening = _FENCE.match(line)
        if fence:
            yield line, False
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif opening is not None or (first and bare in ("---", "+++")):
            yield line, False
            fence = bare if opening is None else opening[1]
        else:
            code = blank and bool(bare) and line.startswith(("    ", "\t"))
            yield line, not code
            blank = not bare or code
        first = False


def _prose(line: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a line that are neither code, nor a link's target, nor a tag."""
    at = 0
    for code in _CODE.finditer(line):
        yield at, code.start()
        at = code.end()
    yield at, len(line)


def _cased(word: str, instead: str) -> str:
    if len(word) > 1 and word.isupper():
        return instead.upper()
    return instead[0].upper() + instead[1:] if word[0].isupper() else instead


_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_CODE = re.compile(r"``[^`]*``|`[^`]*`|<[^<>\s][^<>]*>|\]\([^()\s]*\)|https?://\S+")
_PLAIN = _Swapper(PLAIN)
_AGGRESSIVE = _Swapper({**PLAIN, **TECHNICAL})
