"""Numbers in prose: with their units, as one value each, so that 1.5 GB is 1500 MB and is not 1.5 MB. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .answers import listed

MOST = 400
"""Numbers that are read of one text."""

_SIZES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
UNITS: Mapping[str, tuple[str, float]] = {
    **{f"{letter}b": ("byte", size) for letter, size in _SIZES.items() if letter},
    **{f"{letter}ib": ("byte", 1024.0**power) for power, letter in enumerate("kmgt", 1)},
    **dict.fromkeys(("byte", "bytes"), ("byte", 1.0)),
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), ("second", 1e-9)),
    **dict.fromkeys(("us", "µs", "microsecond", "microseconds"), ("second", 1e-6)),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("second", 1e-3)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("second", 1.0)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), ("second", 60.0)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), ("second", 3600.0)),
    **dict.fromkeys(("day", "days"), ("second", 86400.0)),
    **dict.fromkeys(("week", "weeks"), ("second", 604800.0)),
    **dict.fromkeys(("mm", "millimeters", "millimetres"), ("metre", 1e-3)),
    **dict.fromkeys(("cm", "centimeters", "centimetres"), ("metre", 1e-2)),
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), ("metre", 1.0)),
    **dict.fromkeys(("km", "kilometer", "kilometers", "kilometre", "kilometres"), ("metre", 1e3)),
    **dict.fromkeys(("mile", "miles", "mi"), ("metre", 1609.344)),
    **dict.fromkeys(("g", "gram", "grams"), ("gram", 1.0)),
    **dict.fromkeys(("kg", "kilogram", "kilograms"), ("gram", 1e3)),
    **dict.fromkeys(("%", "percent"), ("", 1e-2)),
    **dict.fromkeys(("$", "usd", "dollar", "dollars"), ("usd", 1.0)),
    **dict.fromkeys(("€", "eur", "euro", "euros"), ("eur", 1.0)),
    **dict.fromkeys(("hz", "hertz"), ("hertz", 1.0)),
    **dict.fromkeys(("khz",), ("hertz", 1e3)),
    **dict.fromkeys(("mhz",), ("hertz", 1e6)),
    **dict.fromkeys(("ghz",), ("hertz", 1e9)),
}
"""Word → what it measures, and how many of that one is."""

WORDS: Mapping[str, int] = {
    word: value
    for value, word in enumerate(
        listed(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen twenty"
        )
    )
}
_MONTHS = {
    name: number
    for number, long in enumerate(
        listed("january february march april may june july august september october november december"), 1
    )
    for name in (long, long[:3])
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = re.compile(
    rf"\b(?P<y>\d{{4}})-(?P<m>\d\d)-(?P<d>\d\d)\b"
    rf"|\b(?P<name>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})\b"
    rf"|\b(?P<day2>\d{{1,2}})(?:st|nd|rd|th)? (?P<name2>{_MONTH})\.?,? (?P<year2>\d{{4}})\b"
)
_NUMBER = re.compile(
    r"(?<![\w.])(?<!\w-)(?P<money>[$€])?(?P<sign>-)?"
    r"(?P<body>0x[0-9a-f]{1,16}|v?\d{1,9}(?:\.\d{1,9}){2,5}|\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,15})?|\d{1,18}(?:\.\d{1,15})?)"
    r"(?:[ -]?(?P<unit>%|[a-zµ]{1,14})(?![\w-]))?"
)
_WORD_NUMBER = re.compile(rf"\b({'|'.join(list(WORDS)[2:])})\b(?: ([a-z]{{1,14}})\b)?")


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number: what it measures (empty: a bare number), how much, and the word behind it."""

    kind: str
    value: float
    digits: int
    """Digits behind the point, as it was written."""
    beside: str = ""
    """The word behind it that is no unit, by which two texts' numbers are told to be about one thing."""


def quantities(text: str) -> list[Quantity]:
    """Return the numbers, dates and versions of a lower-case text, in its order.

    >>> [one.value for one in quantities("1.5 gb, then 1,000 and 50%")]
    [1500000000.0, 1000.0, 0.5]
    """
    found = [(date.start(), Quantity("date", _day(date), 0)) for date in _DATE.finditer(text)]
    text = _DATE.sub(lambda match: " " * len(match[0]), text)
    for match in _NUMBER.finditer(text):
        found.append((match.start(), _number(match)))
        if len(found) > MOST:
            break
    found += [
        (match.start(), _of(float(WORDS[match[1]]), match[2] or "", 0))
        for match in _WORD_NUMBER.finditer(text[:100_000])
    ]
    return [one for _, one in sorted(found, key=lambda pair: pair[0])][:MOST]


def _day(date: re.Match[str]) -> float:
    if date["y"]:
        return float(f"{date['y']}{date['m']}{date['d']}")
    month = _MONTHS[date["name"] or date["name2"]]
    return float(f"{date['year'] or date['year2']}{month:02}{int(date['day'] or date['day2']):02}")


def _number(match: re.Match[str]) -> Quantity:
    body = match["body"]
    if body.startswith("0x"):
        return _of(float(int(body, 16)), match["unit"] or "", 0)
    if body.startswith("v") or body.count(".") > 1:
        parts = [int(part) for part in body.lstrip("v").split(".")]
        return Quantity("version:" + ".".join(map(str, parts)), 0.0, 0)
    value = float(body.replace(",", "")) * (-1 if match["sign"] else 1)
    return _of(value, match["money"] or match["unit"] or "", len(body.partition(".")[2]))


def _of(value: float, word: str, digits: int) -> Quantity:
    unit = UNITS.get(word)
    if unit is None:
        return Quantity("", value, digits, word)
    return Quantity(unit[0], value * unit[1], digits)


def same(first: Quantity, second: Quantity) -> bool:
    """Whether two are the same amount: also where one of them was rounded, or has no unit that could contradict."""
    if first.kind != second.kind and (first.kind and second.kind):
        return False
    if first.kind.startswith("version:") or second.kind.startswith("version:"):
        return first.kind == second.kind
    if math.isclose(first.value, second.value, rel_tol=1e-9):
        return True
    if first.kind == second.kind == "metre":  # miles and kilometres are given rounded
        return math.isclose(first.value, second.value, rel_tol=5e-3)
    digits = min(first.digits, second.digits)
    rounded = first.kind == second.kind == "" and digits >= 2 and first.digits != second.digits
    return rounded and math.isclose(round(first.value, digits), round(second.value, digits), rel_tol=1e-9)


def without(found: Iterable[Quantity], known: Iterable[Quantity]) -> list[Quantity]:
    """Return those that are not among ``known``."""
    seen = list(known)
    return [one for one in found if not any(same(one, other) for other in seen)]


def distinct(found: Iterable[Quantity]) -> list[Quantity]:
    """Return each amount once."""
    kept: list[Quantity] = []
    for one in found:
        if not any(same(one, other) for other in kept):
            kept.append(one)
    return kept


def conflict(first: list[Quantity], second: list[Quantity]) -> bool:
    """Whether two texts that both have numbers contradict each other in them.

    They do where a number of either has no like in the other, and where what stands behind a number, or its
    place, says that they count different things.
    """
    if not first or not second:
        return False
    if not all(any(same(one, other) for other in second) for one in first):
        return True
    if not all(any(same(one, other) for other in first) for one in second):
        return True
    beside = {one.beside for one in first if one.beside} & {one.beside for one in second if one.beside}
    for word in beside:
        ours = [one for one in first if one.beside == word]
        theirs = [one for one in second if one.beside == word]
        if not any(same(one, other) for one in ours for other in theirs):
            return True
    return False


def turned(first: list[Quantity], second: list[Quantity]) -> bool:
    """Whether two texts have the same numbers in another order: *from 10 to 30*, *from 30 to 10*."""
    if len(first) != len(second) or len(distinct(first)) < 2:
        return False
    return not all(same(one, other) for one, other in zip(first, second, strict=True))


def bare(text: str) -> str:
    """Return a lower-case text without the numbers that ``quantities`` reads in it, and without their units."""
    text = _DATE.sub(" ", text)
    text = _NUMBER.sub(lambda match: " " if _counted(match["unit"]) else f" {match['unit']} ", text)
    return _WORD_NUMBER.sub(lambda match: " " if _counted(match[2]) else f" {match[2]} ", text)


def _counted(word: str | None) -> bool:
    return word is None or word in UNITS
