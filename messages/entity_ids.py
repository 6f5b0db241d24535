"""What the ids of loops and groups begin with, and which kind of work an id is of. Standard library only.

A job's id has no first word: ``YYYYmmdd-HHMMSS-xxxxxxxxxxxx``; a loop's and a group's is one with a word before it.
"""

from __future__ import annotations

from typing import Final, Literal

LOOP: Final = "loop-"
GROUP: Final = "fanout-"
"""Of the groups that the command line makes; a group's first word may be another one."""

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_LONGEST = 12
"""Letters before the first dash of such an id, at most."""
_DATE, _REST = 8, 28
"""Characters of such an id's date, and of all that follows its first dash."""


def kind_of(word: str) -> Literal["job", "loop", "group"]:
    """Return what an id, or a beginning of one that holds its date, is of.

    >>> [kind_of(word) for word in ("20261130-0102", "loop-20261130-010203", "fanout-20261130", "my-label")]
    ['job', 'loop', 'group', 'job']
    """
    head, dash, rest = word.partition("-")
    date = rest[:_DATE]
    if not dash or not 2 <= len(head) <= _LONGEST or not _LETTERS.issuperset(head):
        return "job"
    if len(date) < _DATE or not (date.isascii() and date.isdecimal()):
        return "job"
    if word.startswith(LOOP):
        return "loop"
    return "group" if word.startswith(GROUP) or len(rest) == _REST else "job"  # a label may be a word and a date


def whole(token: str, first: str) -> str:
    """Return a beginning of an id with its first word, which a person may leave out.

    >>> whole("20261130-01", LOOP), whole("loop-2026", LOOP)
    ('loop-20261130-01', 'loop-2026')
    """
    return first + token if token[:1].isdigit() else token
