"""The picture of a terminal as bytes that draw it on another."""

from __future__ import annotations

from typing import Any

from pyte.screens import Char

from .terminal import Terminal

_NAMES = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")
_CODES = {name: 30 + place for place, name in enumerate(_NAMES)} | {
    f"bright{name}": 90 + place for place, name in enumerate(_NAMES)
}


def repaint(terminal: Terminal) -> bytes:
    """Clear the other terminal, draw every row, set the modes and the cursor."""
    grid = terminal.grid
    parts = ["\x1b[?1049h" if grid.alternate else "", "\x1b[0m\x1b[2J\x1b[H"]
    for row in range(grid.lines):
        cells = grid.buffer.get(row)
        if not cells:
            continue
        parts.append(f"\x1b[{row + 1};1H")
        last: tuple[Any, ...] | None = None
        for column in range(min(max(cells, default=-1) + 1, grid.columns)):
            cell = cells[column]
            if cell[1:] != last:
                last = cell[1:]
                parts.append(rendition(cell))
            parts.append(cell.data)
        parts.append("\x1b[0m")
    parts.append("\x1b[?2004h" if terminal.bracketed_paste else "\x1b[?2004l")
    parts.append("\x1b[?1h" if terminal.application_cursor else "\x1b[?1l")
    parts.append(f"\x1b[{grid.cursor.y + 1};{min(grid.cursor.x, grid.columns - 1) + 1}H")
    parts.append("\x1b[?25l" if grid.cursor.hidden else "\x1b[?25h")
    return "".join(parts).encode("utf-8", "replace")


def rendition(cell: Char) -> str:
    """The sequence that sets a cell's attributes."""
    codes = ["0"]
    for number, on in ((1, cell.bold), (2, cell.blink), (3, cell.italics), (4, cell.underscore), (7, cell.reverse)):
        if on:
            codes.append(str(number))
    codes += [*colour(cell.fg, 0), *colour(cell.bg, 10)]
    return f"\x1b[{';'.join(codes)}m"


def colour(name: str, shift: int) -> list[str]:
    """The codes of one of pyte's colours: a name, or six hexadecimal digits."""
    if name in _CODES:
        return [str(_CODES[name] + shift)]
    if len(name) == 6:
        try:
            red, green, blue = (int(name[place : place + 2], 16) for place in (0, 2, 4))
        except ValueError:
            return []
        return [str(38 + shift), "2", str(red), str(green), str(blue)]
    return []
