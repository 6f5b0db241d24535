"""Finding the dialog that waits for a choice: the last thing on the screen, or it is none."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .model import Menu, Option, Screen
from .regions import is_rule, last_row
from .rules import ScreenRules

_DEEPEST = 60
_QUESTION_ROWS = 14
_NUMBERED = re.compile(r"(\d{1,3})[.)] +(\S.*)")
_BOX_EDGE = re.compile(r"^\s*[╭╰┌└][─━]{8}")
_TICK = re.compile(r"\s*[✔✓]\s*")


@dataclass(frozen=True, slots=True)
class Found:
    """A menu, the rows it belongs to, and where the conversation above it ends."""

    menu: Menu
    rows: tuple[str, ...]
    edge: int


def find_menu(screen: Screen, rules: ScreenRules) -> Found | None:
    """The dialog at the bottom of the screen, or None."""
    if rules.menu.title is not None and not rules.menu.title.search(screen.title):
        return None
    last = last_row(screen.lines)
    if last < 0:
        return None
    rows = [unboxed(line) for line in screen.lines[: last + 1]]
    if rules.letters is not None and (found := _lettered(rows, rules)) is not None:
        return found
    if rules.buttons is not None:
        return _buttons(screen, rules, last)
    return _listed(screen, rows, rules, last)


def unboxed(line: str) -> str:
    """A row without the frame it stands in."""
    text = line.rstrip()
    stripped = text.lstrip()
    if stripped[:1] in {"│", "┃"}:
        indent = len(text) - len(stripped)
        text = text[:indent] + stripped[1:]
        if text.endswith(("│", "┃")):
            text = text[:-1].rstrip()
    return text


def _listed(screen: Screen, rows: list[str], rules: ScreenRules, last: int) -> Found | None:
    row = last
    boxed = _BOX_EDGE.match(screen.lines[row]) is not None
    if boxed:
        row -= 1
    elif rules.menu.hint is None and rules.cli != "droid":
        return None
    while row >= 0 and not rows[row].strip():
        row -= 1
    if row >= 0 and is_rule(rows[row], "─"):
        row -= 1
    if rules.menu.hint is not None:
        if not rules.menu.hint.search(rows[row]):
            row -= 1  # a narrow terminal breaks it into two
        if row < 0 or not rules.menu.hint.search(rows[row]):
            return None
        row -= 1
    pointer = _pointer_row(rows, row, rules.menu.pointers)
    if pointer is None:
        return None
    options, first = _options(rows, pointer, row, described=rules.menu.described)
    if len(options) < 2:
        return None
    start, question = _question(screen, rows, first)
    menu = Menu(question=question, options=tuple(options))
    return Found(menu, tuple(rows[start : last + 1]), start)


def _pointer_row(rows: list[str], bottom: int, pointers: str) -> int | None:
    for row in range(bottom, max(bottom - _DEEPEST, -1), -1):
        text = rows[row].lstrip()
        if text[:1] and text[0] in pointers and text[1:2] == " " and text[1:].strip():
            return row
    return None


def _options(rows: list[str], pointer: int, bottom: int, *, described: bool) -> tuple[list[Option], int]:
    """The options around the highlighted row, and the first of their rows."""
    text = rows[pointer]
    column = len(text) - len(text.lstrip())
    numbered = _NUMBERED.match(text[column + 1 :].lstrip()) is not None
    lines: list[tuple[int, str]] = []
    for step, start in ((-1, pointer), (1, pointer + 1)):
        row = start
        while 0 <= row <= bottom and _belongs(rows[row], column, row == pointer):
            lines.append((row, rows[row][column + 1 :]))
            row += step
    lines.sort()
    options: list[Option] = []
    for row, line in lines:
        match = _NUMBERED.match(line.strip())
        if match is None and (described or (numbered and row != pointer and _deep(line))):
            if described and row == pointer:
                return [], pointer
            continue
        index = int(match[1]) if match else (options[-1].index + 1 if options else 1)
        label = _TICK.sub(" ", match[2] if match else line.strip()).strip()
        options.append(Option(index=index, label=label, selected=row == pointer))
    return options, lines[0][0] if lines else pointer


def _deep(line: str) -> bool:
    """Whether a row is indented so far that it goes on with the row above."""
    return len(line) - len(line.lstrip()) > 5


def _belongs(row: str, column: int, is_pointer: bool) -> bool:
    return is_pointer or (bool(row.strip()) and row[: column + 1].strip() == "")


def _question(screen: Screen, rows: list[str], first: int) -> tuple[int, str]:
    """Where the dialog begins, and the last sentence above its options."""
    start = first
    question = ""
    for row in range(first - 1, max(first - _QUESTION_ROWS - 1, -1), -1):
        if is_rule(rows[row], "─") or _BOX_EDGE.match(screen.lines[row]):
            start = row
            if question:
                break
            continue
        if rows[row].strip():
            question = question or rows[row].strip()
        start = row
    return start, question[:300]


def _lettered(rows: list[str], rules: ScreenRules) -> Found | None:
    assert rules.letters is not None  # noqa: S101 - the caller looked
    floor = max(len(rows) - 1 - rules.composer.footer_rows, -1)
    row = next((row for row in range(len(rows) - 1, floor, -1) if rules.letters.match(rows[row])), None)
    if row is None:
        return None
    choices = re.findall(r"\[(\w)\] (\w+)", rows[row])
    options = tuple(Option(index=number, label=word, key=key) for number, (key, word) in enumerate(choices, 1))
    start = max(row - _QUESTION_ROWS, 0)
    asked = [line.strip() for line in rows[start:row] if line.strip()]
    heads = [place for place, line in enumerate(asked) if rules.approval.search(line)]
    question = " ".join(asked[heads[-1] :]) if heads else (asked[-1] if asked else "")
    return Found(Menu(question=question[:300], options=options), tuple(rows[start:]), start)


def _buttons(screen: Screen, rules: ScreenRules, last: int) -> Found | None:
    assert rules.buttons is not None  # noqa: S101 - the caller looked
    for row in range(last, max(last - 4, -1), -1):
        line = screen.lines[row]
        bar = line.find("┃")
        text = line[bar + 1 :] if bar >= 0 else line
        if not rules.buttons.match(text):
            continue
        head = rules.buttons.match(text)
        assert head is not None  # noqa: S101 - it matched just now
        offset = len(line) - len(text)
        spans = [span for span in screen.marked if span.row == row]
        options = []
        for number, word in enumerate(re.finditer(r"\S+(?: \S+)*", head[0]), 1):
            start, end = offset + word.start(), offset + word.end()
            own = [
                span
                for span in spans
                if span.start <= start and end <= span.end and span.end - span.start < len(word[0]) + 4
            ]
            options.append(Option(index=number, label=word[0], selected=bool(own)))
        start_row = row
        while start_row > 0 and "┃" in screen.lines[start_row - 1][: bar + 1]:
            start_row -= 1
        block = [unboxed(line) for line in screen.lines[start_row : last + 1]]
        asked = [line.strip() for line in block if line.strip()]
        question = " ".join(asked[:3])
        return Found(Menu(question=question[:300], options=tuple(options), across=True), tuple(block), start_row)
    return None
