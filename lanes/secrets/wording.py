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
    blocks = _Blocks()
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        lines.append(swapper.line(line, number, swaps) if blocks.is_prose(line) else line)
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


class _Blocks:
    """Goes through a text line by line and knows which block each line is of."""

    def __init__(self) -> None:
        self._closing = ""
        """What ends the block that is open: the mark of a fence or of front matter, or a tag."""
        self._quoted = False
        self._literal: int | None = None
        """How far the line is indented whose deeper lines are code (reST), if one is open."""
        self._blank = True
        self._first = True

    def is_prose(self, line: str) -> bool:
        """Tell whether the next line is prose: in no fence, front matter, literal or tag, and not indented as code."""
        body = _QUOTE.sub("", line, count=1)
        first, self._first = self._first, False
        if self._closing and not (self._quoted and body == line):
            self._close(body)
            return False
        self._closing = ""
        if self._opens(line, body, first=first):
            return False
        bare = body.strip()
        indented = bool(bare) and body.startswith(("    ", "\t"))
        code = (self._blank and indented) or self._in_literal(body)
        self._blank = not bare or code or _HEADING.match(body) is not None
        return not code

    def _opens(self, line: str, body: str, *, first: bool) -> bool:
        """Tell whether a block begins here that has a closing mark, and remember that."""
        fence, tag = _FENCE.match(line), _TAG.match(body)
        if fence is not None:
            self._closing = fence[1]
        elif first and line.strip() in ("---", "+++"):
            self._closing = line.strip()
        elif tag is not None:
            self._closing = f"</{tag[1].lower()}>"
            self._close(body)
        else:
            return False
        self._quoted = body != line
        return True

    def _close(self, body: str) -> None:
        """End the open block where its mark stands; indented lines behind it are code."""
        bare = body.strip()
        ends = bare.startswith(self._closing) and not bare.strip(self._closing[0])
        if ends or (self._closing[0] == "<" and self._closing in bare.lower()):
            self._closing, self._blank = "", True

    def _in_literal(self, body: str) -> bool:
        """Tell whether a line belongs to a literal block of reST, which goes on as long as it is indented deeper."""
        bare = body.strip()
        depth = len(body) - len(body.lstrip())
        if self._literal is not None and bare:
            if depth > self._literal:
                return True
            self._literal = None
        if _LITERAL.match(bare) if bare.startswith("..") else bare.endswith("::"):
            self._literal = depth
        return False


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


_QUOTE = re.compile(r"(?: {0,3}> ?)*")
_FENCE = re.compile(r"[ \t]*(?:>[ \t]*|(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(```+(?=[^`]*$)|~~~+)")
"""Where a fence opens: also in a quotation and in an item of a list, however deep."""
_TAG = re.compile(r" {0,3}<(pre|script|style|textarea)\b", re.IGNORECASE)
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_LITERAL = re.compile(r"\.\. +(?:code|code-block|sourcecode|parsed-literal|highlight|prompt|raw|math)::")
_CODE = re.compile(r"``[^`]*``|`[^`]*`|<(?:code|kbd|samp|tt)>[^<]*</|<[^<>\s][^<>]*>|\]\([^()\s]*\)|https?://\S+")
_PLAIN = _Swapper(PLAIN)
_AGGRESSIVE = _Swapper({**PLAIN, **TECHNICAL})
