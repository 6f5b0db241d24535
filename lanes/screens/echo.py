"""What shows in a conversation that a text was taken: the text itself, anew, and what came after it.

A turn may begin and end between two looks, so that its work is on no picture. What it leaves behind is: the words
that were given now stand among what was said, as often as before and once more, and below them stands what was
answered. Only the whole text counts, and only where nothing but frames and a prompt's sign stands beside it.
"""

from __future__ import annotations

_SIGNS = ">❯›»▌!*"
"""What may stand before the words."""
_FRAMES = frozenset(" \t\xa0─━│┃╭╮╰╯┌┐└┘├┤═▀▄▔▁╌╹")
_MOST_CHARS = 20_000
"""No screen shows a longer text whole."""
_GAP = "   "


def answer_below(text: str, before: tuple[str, ...], now: tuple[str, ...]) -> str | None:
    """Return the first row below the text, which stands in ``now`` once more than in ``before``.

    Empty where nothing stands below it yet; None where the text is not seen there anew, or not as a whole.
    """
    words = _bare(text).lstrip(_SIGNS) if len(text) <= _MOST_CHARS else ""
    if not words:
        return None
    ends = _ends(words, now)
    if len(ends) <= len(_ends(words, before)):
        return None
    return next((row.strip() for row in now[ends[-1] :] if _bare(row)), "")


def _ends(words: str, rows: tuple[str, ...]) -> list[int]:
    """Where the text ends, each time it stands there: the number of the row below it."""
    bare = [_bare(_without_time(row)) for row in rows]
    found, row = [], 0
    while row < len(bare):
        after = _after(words, bare, row)
        if after is not None:
            found.append(after)
        row = row + 1 if after is None else after
    return found


def _after(words: str, bare: list[str], row: int) -> int | None:
    """The row below the text, where it begins in this row."""
    first = bare[row].lstrip(_SIGNS)
    if not first or not words.startswith(first):
        return None
    at, row = len(first), row + 1
    while at < len(words) and row < len(bare) and words.startswith(bare[row], at):
        at, row = at + len(bare[row]), row + 1
    return row if at == len(words) else None


def _bare(text: str) -> str:
    """A text without blanks and frames: interfaces trim, reflow and draw lines."""
    return "".join(char for char in text if char > " " and not "\x7f" <= char <= "\xa0" and char not in _FRAMES)


def _without_time(row: str) -> str:
    """A row without the time of day at its end."""
    head, gap, tail = row.rpartition(_GAP)
    hours, colon, minutes = tail.strip().partition(":")
    timed = gap and colon and hours.isdecimal() and minutes[:2].isdecimal() and len(hours) <= 2 and len(minutes) <= 5
    return head if timed else row
