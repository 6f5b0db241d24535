"""Reading an answer for its sense: words without their endings, what is negated, what is listed. Pure.

No model is asked here, so nothing is understood: it is only good enough to say *the same* where two texts plainly
say the same. Every caller takes doubt for a difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from . import quantities
from .answers import listed, plain

Role = Literal["said", "cause", "effect", "condition"]

READ_LIMIT = 60_000
"""Characters of an answer that are compared; what is longer is nothing that rules could judge."""

CLAUSE_WORDS = 60

_TOKEN = re.compile(r"o\([^()\n]{1,40}\)|[A-Za-z0-9_](?:[\w./:'+#~-]{0,200}[\w+#])?", re.ASCII | re.IGNORECASE)
_MARKER = re.compile(r"^[ \t]{0,8}(?:[-*+•]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_PARTS = re.compile(r"[.;!?](?=\s|$)|[,:](?=\s)|\n| - ")
_EMPHASIS = re.compile(r"[*_]{2}|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|`|^#{1,6} ", re.MULTILINE)

QUALIFIERS = frozenset(
    listed(
        "but except unless however although though mostly partly partially sometimes usually almost nearly only "
        "all some most every everyone everything few many or "
        "if after before until least more less than over under"
    )
)
"""Words that narrow or widen what is said."""
NEGATORS = frozenset({"not", "no", "never", "neither", "nor", "without", "hardly"})
_NEGATED = {
    word: word.removeprefix(prefix)
    for prefix, words in (
        ("un", "unsafe unable unlikely unsupported unnecessary unsorted unused unchanged unbounded unreachable"),
        ("in", "invalid incorrect insecure incomplete inconsistent incompatible insufficient"),
        ("im", "impossible immutable"),
        ("dis", "disallowed disallow disagree"),
        ("non", "nonblocking nonzero"),
    )
    for word in listed(words)
}
_STOP = frozenset(
    listed(
        "a an the this that these those it its is are was were be been being am do does did done has have had "
        "having can could will would shall should may might must to of in on at by for from with into onto "
        "over under around about as than then there here and or but so if when while because since which who "
        "whom whose what where how why we you i they he she them us our your their my me also just only very "
        "really all any each both either some such own same get gets got give gives make makes use uses using "
        "used used it's that's answer per via by up out please would likely"
    )
)
GENERIC = frozenset(
    listed(
        "send sends need needs start starts written wrote made request requests takes holds "
        "run runs time name call called option choice file function value result line number type module "
        "package license version set command method named find found following total exactly approximately "
        "about roughly database"
    )
)
"""Words that a full sentence has around a short answer, and that change nothing in it."""
_ASKS = frozenset(
    listed("is are was were do does did can could will would shall should may might must has have had am isn't aren't")
)
_YES = frozenset({"yes", "true", "yep", "yeah", "correct", "right", "lgtm"})
_NO = frozenset({"no", "false", "nope", "incorrect", "wrong"})
_ROLES: dict[str, Role] = {
    **dict.fromkeys(("because", "since", "as", "due"), "cause"),
    **dict.fromkeys(("so", "therefore", "thus", "hence", "consequently"), "effect"),
    **dict.fromkeys(("when", "if", "while", "whenever", "unless"), "condition"),
}
_SPLITTERS = frozenset({"because", "when", "if", "so", "therefore", "unless", "while", "whenever"})
_SPELLING = {"licence": "license", "colour": "color", "colours": "colors", "postgres": "postgresql"}


@dataclass(frozen=True, slots=True)
class Clause:
    """One part of a sentence: what it is to the others, and its words in order."""

    role: Role
    words: tuple[str, ...]
    negated: bool


def named(text: str) -> str:
    """Return a text in which single capitals that are names (``A imports B``) are no articles any more."""
    return _CAPITAL.sub(r"\1_", text) if _CAPITAL_NAME.search(text) else text


_CAPITAL = re.compile(r"\b([A-HJ-Z])\b")
_CAPITAL_NAME = re.compile(r"\b[B-HJ-Z]\b")


def clean(text: str) -> str:
    """Return a text without markup, in lower case, with contractions written out."""
    said = _EMPHASIS.sub("", plain(text[:READ_LIMIT])).strip().lower()
    said = said.replace("cannot", "can not").replace("can't", "can not").replace("won't", "will not")
    return said.replace("n't", " not")


def tokens(text: str) -> list[str]:
    """Return the words of a cleaned text: names and paths whole, ``SHA-256`` as ``sha256``."""
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        word = match[0].removeprefix("./").rstrip("'")
        if "-" in word:
            joined = word.replace("-", "")
            found.extend([joined] if any(c.isdigit() for c in word) else [part for part in word.split("-") if part])
            continue
        if word in _NEGATED:
            found.extend(("not", _NEGATED[word]))
            continue
        found.append(_SPELLING.get(word, word))
    return found


def stem(word: str) -> str:
    """Return a word without its ending; a name of code, which has other characters in it, as it is.

    >>> [stem(word) for word in ("retries", "retrying", "upgrade", "upgrading", "parse_headers")]
    ['retry', 'retry', 'upgrad', 'upgrad', 'parse_headers']
    """
    if not word.isalpha() or len(word) < 4:
        return word
    for ending, instead in (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("ly", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def content(text: str) -> list[str]:
    """Return the stems of a cleaned text that carry its sense, in order; numbers are read elsewhere."""
    return [
        stem(word)
        for word in tokens(quantities.bare(text))
        if word not in _STOP and word not in NEGATORS and not word.replace(".", "").isdigit()
    ]


def qualifiers(text: str) -> frozenset[str]:
    """Return the words of a cleaned text that narrow or widen it."""
    return QUALIFIERS.intersection(tokens(text))


def negated(text: str) -> bool:
    """Whether a cleaned text says *not*."""
    return any(word in NEGATORS for word in tokens(text))


def asks_yes_or_no(question: str) -> bool:
    """Whether a question is answered with yes or no."""
    words = question.strip().lower().split(None, 1)
    return bool(words) and words[0] in _ASKS and " or " not in question.lower()


def stance(text: str, question: str | None) -> bool | None:
    """Return yes or no as a cleaned text says it: by its first word, else by its negations.

    The latter only where the (cleaned) ``question`` asks for it, and where the text speaks in the question's words.
    """
    words = tokens(text[:400])
    if not words:
        return None
    if words[0] in _YES:
        return True
    if words[0] in _NO and (len(words) < 3 or text[len(words[0]) : len(words[0]) + 1] in ",.:;!- \n"):
        return False
    if question is None or not set(content(question)) & set(content(text)):
        return None
    first = re.split(r"[.!?\n](?:\s|$)", text, maxsplit=1)[0]
    return not negated(first)


def clauses(text: str) -> list[Clause]:
    """Return the clauses of a cleaned text. *X, so Y* is *Y because X*."""
    found: list[Clause] = []
    for part in _PARTS.split(text):
        for role, words in _cut(part):
            kept = tuple(content(words)[:CLAUSE_WORDS])
            if kept:
                found.append(Clause(role, kept, negated(words)))
    made = list(found)
    for place, one in enumerate(found):
        if one.role == "effect":
            made[place] = Clause("said", one.words, one.negated)
            if place and found[place - 1].role == "said":
                made[place - 1] = Clause("cause", found[place - 1].words, found[place - 1].negated)
    return made


def _cut(part: str) -> list[tuple[Role, str]]:
    cut: list[tuple[Role, list[str]]] = [("said", [])]
    for word in part.split():
        if word in _SPLITTERS:
            cut.append((_ROLES[word], []))
        elif not cut[-1][1] and word in _ROLES and len(cut) == 1:
            cut[-1] = (_ROLES[word], [])
        else:
            cut[-1][1].append(word)
    return [(role, " ".join(words)) for role, words in cut if words]


def unmarked(text: str) -> str:
    """Return a text without the marks and numbers of its lists."""
    return _MARKER.sub("", text)


def items(text: str) -> list[str] | None:
    """Return the items of a text that is a list, with bullets or in one line; None where it is none."""
    lines = [line for line in text.strip().split("\n") if line.strip()]
    marked = [line for line in lines if _MARKER.match(line)]
    if len(marked) > 1 and len(lines) - len(marked) <= 1:
        return [clean(_MARKER.sub("", line)) for line in marked]
    if len(lines) != 1 or len(text) > 600:
        return None
    said = clean(text).rstrip(".!")
    for lead in (" are ", " is ", ": "):
        if lead in said and ", " not in said.split(lead, 1)[0]:
            said = said.split(lead, 1)[1]
            break
    listed = [one.strip() for one in re.split(r", and |, or |, | and ", said)]
    small = all(0 < len(tokens(one)) <= 4 and len(content(one)) <= 2 for one in listed)
    return listed if len(listed) > 1 and small else None
