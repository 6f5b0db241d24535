"""Finding the composer: anchored at the bottom of the screen, because what stands above may say anything."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .model import Composer, Screen
from .rules import ComposerShape

_LEAST_RULE = 20


@dataclass(frozen=True, slots=True)
class Region:
    """Where the composer is."""

    top: int
    """Its first row."""
    bottom: int
    """Its last row."""
    edge: int
    """The first row that belongs to it or its frame: the conversation ends above."""
    after: int
    """The first row of the footer."""
    column: int
    """Where a draft begins in its first row."""


def find_composer(screen: Screen, shape: ComposerShape) -> Region | None:
    """The composer's place, or None where there is none."""
    last = last_row(screen.lines)
    if last < 0:
        return None
    found = {"ruled": _ruled, "glyph": _glyph, "barred": _barred}[shape.kind](screen, shape, last)
    if found is None:
        return None
    footer = [line for line in screen.lines[found.after : last + 1] if line.strip()]
    if len(footer) > shape.footer_rows:
        return None
    if shape.footer is not None and not any(shape.footer.search(line) for line in footer):
        return None
    return found


def last_row(lines: tuple[str, ...]) -> int:
    """The last row with anything on it, or -1."""
    return next((row for row in range(len(lines) - 1, -1, -1) if lines[row].strip()), -1)


def is_rule(line: str, char: str) -> bool:
    """Whether a row is one line drawn across."""
    text = line.strip()
    return len(text) >= _LEAST_RULE and text.strip(char) == ""


def _ruled(screen: Screen, shape: ComposerShape, last: int) -> Region | None:
    above, below = shape.rules[0], shape.rules[-1]
    lines = screen.lines
    bottom = next((row for row in range(last, -1, -1) if is_rule(lines[row], below)), None)
    if bottom is None:
        return None
    indent = _indent(lines[bottom])
    top = next(
        (row for row in range(bottom - 1, -1, -1) if is_rule(lines[row], above) and _indent(lines[row]) == indent), None
    )
    if top is None or bottom - top < 2:
        return None
    glyph = shape.glyph.match(lines[top + 1][indent:] if indent else lines[top + 1])
    if glyph is None:
        return None
    return Region(top + 1, bottom - 1, top, bottom + 1, indent + glyph.end())


def _glyph(screen: Screen, shape: ComposerShape, last: int) -> Region | None:
    lines = screen.lines
    row = last
    # The footer: at most a few rows, all of them indented, with a blank row before them.
    while row >= 0 and last - row < shape.footer_rows and lines[row].strip() and not shape.glyph.match(lines[row]):
        row -= 1
    if row < 0 or (lines[row].strip() and not shape.glyph.match(lines[row])):
        return None
    after = row + 1
    while row >= 0 and not lines[row].strip():
        row -= 1
    bottom = row
    while row >= 0 and lines[row].startswith("  ") and not shape.glyph.match(lines[row]):
        row -= 1
    glyph = shape.glyph.match(lines[row]) if row >= 0 else None
    if glyph is None or (row > 0 and lines[row - 1].strip()):
        return None
    return Region(row, max(bottom, row), row, after, glyph.end())


def _barred(screen: Screen, shape: ComposerShape, last: int) -> Region | None:
    lines = screen.lines
    corner = next((row for row in range(last, -1, -1) if re.match(r" *╹▀{20}", lines[row])), None)
    if corner is None or corner < 2:
        return None
    column = _indent(lines[corner])
    row = corner - 1
    while row >= 0 and lines[row][column : column + 1] == "┃":
        row -= 1
    first, bottom = row + 2, corner - 3  # a blank row above the draft, a blank row and the agent's name below it
    if first > bottom or lines[row + 1][column + 1 :].strip():
        return None
    glyph = shape.glyph.match(lines[first][column:])
    return None if glyph is None else Region(first, bottom, row + 1, corner + 1, column + 3)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def composer_of(screen: Screen, region: Region, shape: ComposerShape) -> tuple[Composer, str]:
    """What the composer holds."""
    rows = [screen.lines[region.top][region.column :]]
    bar = 3 if shape.kind == "barred" else 0
    at_row, at_column = screen.cursor
    if shape.ghost and at_row == region.top:
        rows[0] = rows[0][: max(at_column - region.column, 0)]
    for row in range(region.top + 1, region.bottom + 1):
        line = screen.lines[row]
        if shape.ghost and row == at_row:
            line = line[:at_column]
        rows.append(line[region.column :] if bar or line[: region.column].strip() == "" else line)
    if shape.beside is not None:
        rows = [shape.beside.sub("", row) for row in rows]
    text = "\n".join(row.rstrip() for row in rows).strip("\n")
    home = screen.cursor == (region.top, region.column)
    if not text.strip():
        return Composer.EMPTY, ""
    if home and (shape.ghost or shape.placeholder.match(text) or not bright_text(screen, region).strip()):
        return Composer.EMPTY, ""
    if shape.pasted.search(text):
        return Composer.PASTED, text
    if shape.placeholder.match(text) and not bright_text(screen, region).strip():
        return Composer.EMPTY, ""
    return Composer.DRAFT, text


def bright_text(screen: Screen, region: Region) -> str:
    """What the composer holds that is not drawn faint; the whole where nothing is known of that."""
    rows = screen.bright or screen.lines
    return "\n".join(rows[row][region.column :] for row in range(region.top, region.bottom + 1))
