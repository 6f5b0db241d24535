"""Whether two answers to one question say the same, decided for free where it can be. Pure.

    settle(question, first, second, contract)  ->  Settled(verdict, why)

Doubt is a difference: a wrong *differ* costs one look by a stronger model, a wrong *agree* hides the very thing
that a second opinion is asked for. What an answer asks of its reader ("report consensus") counts for nothing.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from . import quantities, reading
from .answers import Fault, blocks, fault_of, listed, value_of
from .contracts import Contract, kept
from .reading import Clause

Word = Literal["agree", "differ", "first", "second", "neither"]

SIMILAR = 0.6
"""Share of two texts' words that must be common."""
CLAUSE = 0.5
"""The same for a clause and its like."""
CLAUSES = 100
"""Clauses of an answer that are compared with each of the other's; a longer one is a judge's."""
SHORT = 5
"""Words of sense up to which an answer is a short one."""

_CHOICE = re.compile(
    r"(?:the )?(?:correct |right |best )?(?:answer|option|choice)?(?: is|:)? ?(?:option |choice )?"
    r"[(\[]?([a-h])(?:[)\].:]|$)"
)
_ORDERED = re.compile(r"\b(?:order|rank|steps?|sequence|first to last|sort|priorit\w{1,6}|top \d+)\b")
_CALL = re.compile(r"[\w.]{1,80}\([^\n]{0,400}\);?")
_TYPE = re.compile(r"[\w.]{1,80}[\[<][^\n]{1,200}[\]>]")
_WORD = re.compile(r"[\w.-]{1,80}")
_COMMENT = re.compile(r"(?:^|\s)(?:#|//)[ \t][^\n]{0,2000}$", re.MULTILINE)
_OPPOSITES = tuple(
    tuple(reading.stem(word) for word in pair.split("/"))
    for pair in listed(
        "increase/decrease before/after always/never enable/disable faster/slower maximum/minimum max/min more/less "
        "first/last left/right up/down upgrade/downgrade add/remove allow/deny allow/forbid sync/async "
        "synchronous/asynchronous true/false start/stop higher/lower above/below larger/smaller soft/hard "
        "public/private local/remote pass/fail required/optional ascending/descending success/failure grow/shrink "
        "rise/fall improve/degrade accept/reject include/exclude lock/unlock encrypt/decrypt on/off old/new "
        "keep/delete merge/reject blocking/nonblocking mutable/immutable everything/nothing many/few better/worse"
    )
)


@dataclass(frozen=True, slots=True)
class Settled:
    """What was decided for free, and why in words."""

    verdict: Word
    why: str

    @property
    def open(self) -> bool:
        """Whether somebody has to look."""
        return self.verdict == "differ"


def settle(question: str, first: str, second: str, contract: Contract | None = None) -> Settled:
    """Decide what can be decided for free about two answers.

    ``agree``: both say it. ``first``/``second``: the other can't be used, or breaks the declared contract.
    ``neither``: no answer among them. ``differ``: all else.
    """
    faults = (fault_of(first), fault_of(second))
    if contract is not None and (found := _by_contract(contract, (first, second), faults)) is not None:
        return found
    if any(faults):
        return _by_fault(faults)
    return Settled(*_compared(question, first, second))


def _by_fault(faults: tuple[Fault | None, Fault | None]) -> Settled:
    if all(faults):
        return Settled("neither", f"one answer is {faults[0]}, the other is {faults[1]}")
    return (
        Settled("second", f"the first is {faults[0]}") if faults[0] else Settled("first", f"the second is {faults[1]}")
    )


def _by_contract(
    contract: Contract, answers: tuple[str, str], faults: tuple[Fault | None, Fault | None]
) -> Settled | None:
    """Return the verdict of a declared contract; None where both keep one that says nothing of their sense."""
    keeps = tuple(fault is None and kept(contract, answer) for answer, fault in zip(answers, faults, strict=True))
    if not any(keeps):
        return Settled("neither", f"neither keeps the contract {contract.words}")
    if not all(keeps):
        return Settled("first" if keeps[0] else "second", f"only one keeps the contract {contract.words}")
    if contract.kind == "regex":
        return None
    values = [value_of(answer) for answer in answers]
    if contract.keys and all(isinstance(value, dict) for value in values):
        values = [{key: value[key] for key in contract.keys} for value in values if isinstance(value, dict)]
    same = same_value(*values)
    return Settled("agree" if same else "differ", "the same data" if same else "both keep the contract with other data")


def _compared(question: str, first: str, second: str) -> tuple[Word, str]:
    for look in (_as_words, _as_data, _as_choice, _as_code):
        found = look(question, first, second)
        if found is not None:
            return found
    asked = reading.clean(question)
    ours, theirs = (reading.clean(reading.named(reading.unmarked(one))) for one in (first, second))
    return (
        _as_contrary(ours, theirs)
        or _as_stance(question, ours, theirs)
        or _as_lists(asked, first, second)
        or _as_numbers(question.lower(), ours, theirs)
        or _as_scope(ours, theirs)
        or _as_short(asked, ours, theirs)
        or _as_prose(asked, ours, theirs)
    )


# --- one way to look after the other; None: nothing to be seen that way

Found = tuple[Word, str] | None


def _as_words(_question: str, first: str, second: str) -> Found:
    if any("```" in one or "\n " in one or "\n\t" in one for one in (first, second)):  # there spaces may count
        same = first.strip() == second.strip()
    else:
        same = " ".join(first.split()).rstrip(".") == " ".join(second.split()).rstrip(".")
    return ("agree", "the same words") if same else None


def _as_data(_question: str, first: str, second: str) -> Found:
    ours, theirs = value_of(first), value_of(second)
    if ours is None or theirs is None:
        return None
    return ("agree", "the same data") if same_value(ours, theirs) else ("differ", "other data")


def same_value(first: object, second: object) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, and is not true; the order of keys is nothing."""
    stack = [(first, second)]
    while stack:
        ours, theirs = stack.pop()
        if isinstance(ours, dict) and isinstance(theirs, dict):
            if ours.keys() != theirs.keys():
                return False
            stack.extend((value, theirs[key]) for key, value in ours.items())
        elif isinstance(ours, list) and isinstance(theirs, list):
            if len(ours) != len(theirs):
                return False
            stack.extend(zip(ours, theirs, strict=True))
        elif isinstance(ours, bool) != isinstance(theirs, bool) or ours != theirs:
            return False
    return True


def _as_choice(question: str, first: str, second: str) -> Found:
    ours, theirs = _choice(first), _choice(second)
    bare = any(len(reading.tokens(reading.clean(one))) <= 2 for one in (first, second))
    if ours is None or theirs is None or not (bare or _choice_offered(question)):
        return None
    return ("agree", f"both choose {ours.upper()}") if ours == theirs else ("differ", "another choice")


def _choice(text: str) -> str | None:
    match = _CHOICE.match(reading.clean(text[:200]))
    return match[1] if match else None


def _choice_offered(question: str) -> bool:
    return "b)" in question.lower() or "b." in question.lower()


def _as_code(_question: str, first: str, second: str) -> Found:
    ours, theirs = _code(first), _code(second)
    if ours is None and theirs is None:
        return None
    left, right = ours if ours is not None else first, theirs if theirs is not None else second
    if (ours is None or theirs is None) and _WORD.fullmatch((right if theirs is None else left).strip(" `.")):
        bare = (left if theirs is None else right).removesuffix("()")
        return None if _WORD.fullmatch(bare) else ("differ", "a name and more than that")
    if _squeezed(left) == _squeezed(right):
        return "agree", "the same code"
    return ("differ", "other code") if ours is not None and theirs is not None else None


def _code(text: str) -> str | None:
    """Return the code that an answer is, in fences or alone; None for prose."""
    said = text.strip()
    inside, _ = blocks(said)
    if inside:
        return "\n".join(inside)
    if len(said) > 2 and said[0] == said[-1] == "`" and said.count("`") == 2 and "\n" not in said:
        inner = said[1:-1]
        return inner if " " in inner or "(" in inner else None  # a name alone is a short answer
    return said if _CALL.fullmatch(said) or _TYPE.fullmatch(said) else None


def _squeezed(code: str) -> str:
    """Return code without comments, and without what no language but in its strings tells apart.

    Indentation counts, and so do line ends where neither braces nor semicolons stand for them.
    """
    lines = "{" not in code and ";" not in code
    try:
        return "\x00".join(_pieces(code, lines=lines))
    except (tokenize.TokenError, SyntaxError, ValueError):
        plain = _COMMENT.sub("", code).replace('"', "'")
        return re.sub(r"[ \t]+" if lines else r"[ \t\n]+", " " if lines else "", plain).strip()


def _pieces(code: str, *, lines: bool) -> Iterator[str]:
    rows = iter([line + "\n" for line in code.strip().split("\n")])
    for one in tokenize.generate_tokens(rows.__next__):
        if one.type in (tokenize.INDENT, tokenize.DEDENT):
            yield "\x01" if one.type == tokenize.INDENT else "\x02"
        elif one.type == tokenize.NEWLINE:
            if lines:
                yield "\n"
        elif one.string.strip() and not (one.type == tokenize.COMMENT and one.string[1:2] in ("", " ")):
            yield _quoted(one.string)


def _quoted(word: str) -> str:
    return f"'{word[1:-1]}'" if len(word) > 1 and word[0] == word[-1] == '"' and "'" not in word else word


def _as_contrary(ours: str, theirs: str) -> Found:
    """Return a difference where one has the opposite of a word, the same with a denial before it, or another sign."""
    left, right = set(reading.tokens(ours)), set(reading.tokens(theirs))
    stems = [set(map(reading.stem, words)) for words in (left, right)]
    for one, other in _OPPOSITES:
        for first, second in (stems, stems[::-1]):
            if one in first and other not in first and other in second and one not in second:
                return "differ", f"one says {one}, the other {other}"
    for first, second in ((left, right), (right, left)):
        for word in first:
            if len(word) > 3 and any(prefix + word in second for prefix in _DENIALS) and word not in second:
                return "differ", f"one says {word}, the other denies it"
    signs = [_SIGNS.findall(one) for one in (ours, theirs)]
    if all(signs) and signs[0] != signs[1]:
        return "differ", "other signs"
    return None


_DENIALS = ("un", "in", "im", "non", "dis", "ir", "il", "de")
_SIGNS = re.compile(r"[<>]=?|[!=]=|(?<=\w) [-+*/^%] (?=\w)")


def _as_stance(question: str, ours: str, theirs: str) -> Found:
    asked = reading.clean(question)
    told = asked if reading.asks_yes_or_no(question) else None
    first, second = reading.stance(ours, told), reading.stance(theirs, told)
    if first is None or second is None:
        return None
    if first != second:
        return "differ", "one says yes, the other no"
    if first and reading.qualifiers(ours) != reading.qualifiers(theirs):
        return "differ", "one says yes with a condition"
    known = set(reading.content(asked))
    if any(not set(reading.content(one)) - known - _STANCES for one in (ours, theirs)):
        return "agree", f"both say {'yes' if first else 'no'}"
    return None


_STANCES = frozenset({"yes", "no", "yep", "nope", "yeah", "correct", "incorrect", "wrong", "right"})


def _as_lists(asked: str, first: str, second: str) -> Found:
    ours, theirs = reading.items(first), reading.items(second)
    if ours is None or theirs is None:
        single = first if ours is None else second
        few = len(_key(reading.clean(single), set(reading.content(asked)))) == 1 and "\n" not in single.strip()
        return ("differ", "one names more") if few and (ours or theirs) else None
    left = [tuple(sorted(_sense(one))) for one in ours]
    right = [tuple(sorted(_sense(one))) for one in theirs]
    if _ORDERED.search(asked) or any("then" in reading.tokens(reading.clean(one)) for one in (first, second)):
        return ("agree", "the same list") if left == right else ("differ", "another list, or another order")
    return ("agree", "the same items") if sorted(left) == sorted(right) else ("differ", "other items")


def _sense(item: str) -> list[str]:
    numbers = [f"{one.kind}={one.value:g}" for one in quantities.quantities(item)]
    return [*reading.content(item), *numbers, *(["not"] if reading.negated(item) else [])] or [item.strip()]


def _as_numbers(asked: str, ours: str, theirs: str) -> Found:
    known = quantities.quantities(asked)
    left, right = quantities.quantities(ours), quantities.quantities(theirs)
    first, second = quantities.without(left, known) or left, quantities.without(right, known) or right
    if reading.qualifiers(ours) != reading.qualifiers(theirs) and (left or right):
        return "differ", "one gives a bound that the other does not"
    if quantities.conflict(first, second) or quantities.turned(left, right):
        return "differ", "other numbers"
    first, second = quantities.distinct(first), quantities.distinct(second)
    if len(first) != 1 or len(second) != 1:
        return None
    for one, other in ((ours, theirs), (theirs, ours)):
        alone = not reading.tokens(quantities.bare(one))
        if alone and not re.search(r"\bnot (?:\w{1,12} ){0,2}[\d$€-]", other):
            return "agree", "the same number"
    return None


def _as_scope(ours: str, theirs: str) -> Found:
    if reading.qualifiers(ours) != reading.qualifiers(theirs):
        return "differ", "one narrows what the other says"
    if reading.negated(ours) != reading.negated(theirs):
        return "differ", "one negates what the other says"
    return None


def _as_short(asked: str, ours: str, theirs: str) -> Found:
    """Compare where one answer is a few words: the other is to have them, and little else of its own."""
    known = set(reading.content(asked))
    words = [reading.tokens(one) for one in (ours, theirs)]
    if max(map(len, words)) <= SHORT and words[0] != words[1] and sorted(words[0]) == sorted(words[1]):
        return "differ", "the same words in another order"
    left, right = _key(ours, known), _key(theirs, known)
    if min(len(left), len(right)) > SHORT:
        return None
    short, long = sorted((left, right), key=len)
    if not short:
        return None
    more = long - short - reading.GENERIC
    if short <= long and len(more) <= len(short) // 4 and not _CERTAIN & more:
        left_clauses, right_clauses = reading.clauses(ours), reading.clauses(theirs)
        turned = _swapped(left_clauses, right_clauses) or not _matched(left_clauses, right_clauses)
        return None if turned and len(short) > 1 else ("agree", "the same answer")
    if not short & long and len(short) <= 2:
        return "differ", "another answer"
    return None


_CERTAIN = frozenset(map(reading.stem, ("none", "null", "nil", "true", "false", "undefined", "nan")))
"""Values: with one more, it is another answer."""


def _key(text: str, known: set[str]) -> set[str]:
    found = set(reading.content(text))
    return (found - known - {reading.stem(word) for word in reading.GENERIC}) or (found - known) or found


def _as_prose(asked: str, ours: str, theirs: str) -> tuple[Word, str]:  # noqa: PLR0911  one veto after the other
    left, right = set(reading.content(ours)), set(reading.content(theirs))
    if not left or not right:
        return "differ", "nothing that could be compared"
    if _CERTAIN & (left ^ right):
        return "differ", "they name other values"
    if any(map(_is_name, left - right)) and any(map(_is_name, right - left)):
        return "differ", "they name different things"
    idle = set(reading.content(asked)) | {reading.stem(word) for word in reading.GENERIC}
    if left - right - idle and right - left - idle:
        return "differ", "each has a word that the other has not"
    if _share(left, right) < SIMILAR:
        return "differ", "they are not plainly the same"
    left_clauses, right_clauses = reading.clauses(ours), reading.clauses(theirs)
    if max(len(left_clauses), len(right_clauses)) > CLAUSES:
        return "differ", "too long for rules to judge"
    if _swapped(left_clauses, right_clauses):
        return "differ", "the same words in another relation"
    if not _matched(left_clauses, right_clauses):
        return "differ", "a clause of one has no like in the other"
    return "agree", "the same sense"


def _is_name(word: str) -> bool:
    return not word.isalpha()


def _share(left: set[str], right: set[str]) -> float:
    return len(left & right) / max(1, len(left | right))


def _swapped(ours: list[Clause], theirs: list[Clause]) -> bool:
    """Whether some clause has the same words in another order: who does what to whom."""
    for one in ours[:CLAUSES]:
        for other in theirs[:CLAUSES]:
            same = sorted(one.words) == sorted(other.words)
            if same and len(one.words) > 2 and not _turned(one.words, other.words):
                return True
    return False


def _turned(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one is the other with its beginning put at its end: *on error it stops*, *it stops on error*."""
    return any(one[place:] + one[:place] == other for place in range(len(one)))


def _matched(ours: list[Clause], theirs: list[Clause]) -> bool:
    """Whether every clause of either has its like in the other, as the same cause or effect."""
    if max(len(ours), len(theirs)) > CLAUSES:
        return False
    both = any(one.role == "cause" for one in ours) and any(one.role == "cause" for one in theirs)
    return _each_found(ours, theirs, both) and _each_found(theirs, ours, both)


def _each_found(ours: list[Clause], theirs: list[Clause], causes: bool) -> bool:
    every = {word for one in theirs for word in one.words}
    for one in ours:
        if len(one.words) < 2:
            continue
        close, place = max(
            ((_share(set(one.words), set(other.words)), -n) for n, other in enumerate(theirs)), default=(0.0, 0)
        )
        if close < CLAUSE:
            if not set(one.words) <= every:
                return False
        elif one.negated != theirs[-place].negated or (causes and {one.role, theirs[-place].role} == {"cause", "said"}):
            return False
    return True
