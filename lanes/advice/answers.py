"""What an answer is before it is compared: whether it can be used at all, and what is fenced in it. Pure.

An answer is a delegate's own text: it is read for what it says and never for what it asks of its reader. Every
pattern here is short and bounded, and is tried on the first and last few hundred characters only.
"""

from __future__ import annotations

import json
import re
from typing import Literal

Fault = Literal["empty", "refused", "truncated"]

REFUSAL_LIMIT = 600
"""Characters from which on a text that begins like a refusal has an answer in it all the same."""
EDGE = 300
"""Characters at each end that are looked at."""


def listed(words: str) -> tuple[str, ...]:
    """Return the words of a text: a table of words that can be read."""
    return tuple(words.split())


_REFUSALS = re.compile(
    r"(?:i'?m |i am |i |my )?(?:really |very |so |must )?(?:sorry|apologi[sz]e|apologies)\b"
    r"[^.\n]{0,60}\b(?:can'?t|cannot|unable|not able|won'?t)\b"
    r"|(?:unfortunately,? )?i (?:can'?t|cannot|can not|won'?t|will not|am not able to|must decline to|must refuse to)"
    r" (?:help|assist|answer|comply|provide|do that|access|fulfil|discuss|continue|complete|process|share|create|see)"
    r"|(?:unfortunately,? )?i(?:'m| am) (?:unable|not able) to\b"
    r"|as an ai\b[^.\n]{0,80}\b(?:can'?t|cannot|unable|not able|don'?t)\b"
    r"|(?:sorry,? )?i (?:don'?t|do not) (?:know|have (?:enough|sufficient|any|access))\b"
    r"|i have no (?:idea|information|access)\b"
    r"|(?:there is )?(?:not enough|insufficient) information\b"
    r"|this request (?:was |has been )?(?:refused|blocked|declined)\b"
)
_CUT = re.compile(r"[\[(<](?:output |response |message |text )?(?:truncated|cut off|continued|to be continued)[\])>]$")
_DANGLING = frozenset(
    listed(
        "a an the and or but of to in on at by for from with into is are was were be been has have had then than that "
        "which because when if as so not it its this these can will would should must may might do does"
    )
)
_FENCE = re.compile(r"^[ \t]{0,3}(```|~~~)", re.MULTILINE)
_ITEM_ALONE = re.compile(r"(?:^|\n)[ \t]{0,8}(?:\d{1,3}[.)]|[-*+])[ \t]*$")


def fault_of(text: str) -> Fault | None:
    """Return why an answer can't be used, or None.

    >>> fault_of("I'm sorry, but I can't help with that."), fault_of("42"), fault_of("  ")
    ('refused', None, 'empty')
    """
    said = text.strip()
    if not said:
        return "empty"
    if len(said) < REFUSAL_LIMIT and _REFUSALS.match(plain(said[:EDGE]).lower().lstrip("*_# ")):
        return "refused"
    return "truncated" if _is_cut(said) else None


def plain(text: str) -> str:
    """Return a text with typographic quotes and dashes as a keyboard has them."""
    return text.translate(_KEYBOARD)


_KEYBOARD = str.maketrans(
    {
        "\u2019": "'",
        "\u2018": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2013": "-",
        "\u2014": "-",
        "\u2212": "-",
        "\xa0": " ",
    }
)


def _is_cut(said: str) -> bool:
    if _CUT.search(said[-EDGE:].lower()) or len(_FENCE.findall(said)) % 2:
        return True
    if "\n" in said and _ITEM_ALONE.search(said[-EDGE:]):
        return True
    if said[0] in "{[" and said[-1] not in "}]" and value_of(said) is None and said.count(said[0]) > _closed(said):
        return True
    last = said.rsplit(None, 1)[-1].lower()
    return said[-1] in ",([{" or (last in _DANGLING and len(said.split()) > 5)


def _closed(said: str) -> int:
    return said.count("}" if said[0] == "{" else "]")


def blocks(text: str) -> tuple[list[str], str]:
    """Return what is fenced in a text, block by block, and the text around it."""
    inside: list[str] = []
    around: list[str] = []
    kept: list[str] | None = None
    fence = ""
    for line in text.split("\n"):
        mark = line.strip()[:3]
        if kept is None and mark in ("```", "~~~"):
            kept, fence = [], mark
        elif kept is not None and mark == fence:
            inside.append("\n".join(kept))
            kept = None
        else:
            (around if kept is None else kept).append(line)
    return inside + ([] if kept is None else ["\n".join(kept)]), "\n".join(around)


def value_of(text: str) -> object | None:
    """Return the JSON object or list that an answer is, alone or in its one fence; None where it is none."""
    said = text.strip()
    inside, _ = blocks(said)
    for one in (said, *(inside if len(inside) == 1 else ())):
        if one.strip()[:1] in ("{", "["):
            try:
                value: object = json.loads(one, parse_constant=_no_number)
            except (ValueError, RecursionError):
                continue
            return value
    return None


def _no_number(word: str) -> object:
    raise ValueError(f"{word} is no JSON")
