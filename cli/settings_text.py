"""A member of a JSON object, changed in its text: every byte beside it stays as a person wrote it. Pure.

A number that no float holds, an escape, a comment's worth of white space and the order of keys survive, because
nothing is read and written anew. Of a key that stands twice the last counts, as in every JSON reader of the field.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

# No number is looked at, and an integer of more digits than Python converts is no error of the file's.
_DECODER = json.JSONDecoder(parse_int=float)
_BLANK = " \t\n\r"
_NONE = "it is no JSON object"


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an object, and where in the text its key begins and its value begins and ends."""

    key: str
    value: Any
    key_at: int
    begin: int
    end: int


def members(text: str, at: int = 0) -> list[Member]:
    """Return the members of the object that begins at ``at``, white space aside. Raises ValueError where none does."""
    at = _skip(text, at)
    if text[at : at + 1] != "{":
        raise ValueError(_NONE)
    found: list[Member] = []
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        key, after = _value(text, at)
        begin = _skip(text, _after(text, _skip(text, after), ":"))
        value, end = _value(text, begin)
        if not isinstance(key, str):
            raise ValueError(_NONE)  # noqa: TRY004 - it is the text that is wrong
        found.append(Member(key, value, at, begin, end))
        at = _skip(text, end)
        if text[at : at + 1] != "}":
            at = _skip(text, _after(text, at, ","))
    return found


def member(found: list[Member], key: str) -> Member | None:
    """Return the member of that key that counts."""
    return next((one for one in reversed(found) if one.key == key), None)


def with_value(text: str, one: Member, value: str) -> str:
    """Return the text with another value, given as JSON, for a member."""
    return text[: one.begin] + value + text[one.end :]


def with_member(text: str, key: str, value: str) -> str:
    """Return an object's text with one more member at its end, set apart as the one before it is."""
    found = members(text)
    if not found:
        brace = text.index("{") + 1
        end = "" if text[brace : brace + 1] in ("\n", "\r") else "\n"
        return f"{text[:brace]}\n  {_quoted(key)}: {value}{end}{text[brace:]}"
    last = found[-1]
    before = found[-2].end if len(found) > 1 else text.index("{") + 1
    gap = text[before : last.key_at].lstrip(_BLANK).removeprefix(",") if len(found) > 1 else text[before : last.key_at]
    return f"{text[: last.end]},{gap}{_quoted(key)}: {value}{text[last.end :]}"


def without_member(text: str, key: str) -> str:
    """Return an object's text without the member of that key that counts; the same where there is none."""
    found = members(text)
    one = member(found, key)
    if one is None:
        return text
    place = found.index(one)
    if place > 0:
        return text[: found[place - 1].end] + text[one.end :]
    if len(found) > 1:
        return text[: one.key_at] + text[found[1].key_at :]
    return text[: text.index("{") + 1] + text[one.end :]


def whole(text: str) -> dict[str, Any]:
    """Return the object that a text is, and nothing else. Raises ValueError, a sentence."""
    try:
        value, end = _value(text, _skip(text, 0))
    except ValueError:
        value, end = None, 0
    if not isinstance(value, dict) or _skip(text, end) != len(text):
        raise ValueError(_NONE)
    return value


def _quoted(text: str) -> str:
    return json.dumps(text)


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        raise ValueError(_NONE) from None


def _after(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise ValueError(_NONE)
    return at + 1


def _skip(text: str, at: int) -> int:
    if at == 0 and text.startswith("\ufeff"):  # a byte order mark, as some editors write it
        at = 1
    while text[at : at + 1] in (" ", "\t", "\n", "\r"):
        at += 1
    return at
