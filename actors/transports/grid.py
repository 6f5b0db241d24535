"""The cells of a terminal: pyte's screen, mended where it is no xterm. Compared with tmux 3.3a on random sequences.

pyte 0.8.2 leaves rows where lines were deleted before rows that nothing was drawn in, keeps every saved cursor and
forgets each as it is restored, homes no cursor when margins are reset, moves one from outside into the margins,
raises when it does not know what to erase, and knows neither scrolling without a cursor at the edge nor repeating.
"""

from __future__ import annotations

import copy
import unicodedata
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import pyte
from pyte.screens import Char
from wcwidth import wcwidth

SCROLLBACK_ROWS = 2000
_ALTERNATE = frozenset({47, 1047, 1049})
_FAINT, _NOT_FAINT = 2, 22


class Grid(pyte.Screen):
    """pyte's screen with an alternate buffer, faint text (kept in the ``blink`` bit) and a scrollback of text."""

    def __init__(self, columns: int, rows: int) -> None:
        self.scrolled: deque[str] = deque(maxlen=SCROLLBACK_ROWS)
        self.scrolled_total = 0
        self.alternate = False
        self.answer: Callable[[bytes], None] = lambda _: None
        self._other: tuple[Any, ...] | None = None
        self._cells: dict[str, Char] = {}
        self._cells_of: Char | None = None
        self._drawn = ""
        """The character that was drawn last."""
        super().__init__(columns, rows)

    def draw(self, data: str) -> None:
        """Draw text; what has no width and combines with nothing is left out."""
        self._drawn = data[-1:]
        self._blank_half(0)
        if data.isascii():
            self._draw_narrow(data)
        else:
            self._draw_any([char for char in data if wcwidth(char) > 0 or unicodedata.combining(char)])
        self._blank_half(1)

    def _draw_narrow(self, data: str) -> None:
        attributes = self.cursor.attrs
        if attributes is not self._cells_of:
            self._cells, self._cells_of = {}, attributes
        cells = self._cells
        for char in data:
            if self.cursor.x == self.columns:
                if pyte.modes.DECAWM in self.mode:
                    self.dirty.add(self.cursor.y)
                    self.carriage_return()
                    self.linefeed()
                else:
                    self.cursor.x -= 1
            cell = cells.get(char)
            if cell is None:
                cell = cells[char] = attributes._replace(data=char)
            self.buffer[self.cursor.y][self.cursor.x] = cell
            self.cursor.x += 1
        self.dirty.add(self.cursor.y)

    def _draw_any(self, chars: list[str]) -> None:
        if all(wcwidth(char) < 2 for char in chars):
            super().draw("".join(chars))
            return
        for char in chars:
            if wcwidth(char) == 2 and self.cursor.x == self.columns - 1 and pyte.modes.DECAWM in self.mode:
                self.cursor.x = self.columns  # on to the next row: pyte would draw half of it at the edge
            super().draw(char)

    def _blank_half(self, drawn: int) -> None:
        """Blank what is left of a wide character that is drawn over: its left half before (0), its right after (1).

        The right half is a cell without a character.
        """
        row: dict[int, Char] = self.buffer.get(self.cursor.y, {})
        column = self.cursor.x
        if column in row and not row[column].data and column > 0:
            half = column - 1 + drawn
            row[half] = row[half]._replace(data=" ")

    def index(self) -> None:
        """Move down; a row that leaves at the top goes into the scrollback."""
        top, bottom = self._region()
        if self.cursor.y == bottom and top == 0 and not self.alternate:
            self.scrolled.append(row_text(self.buffer[0], self.columns))
            self.scrolled_total += 1
        if self.cursor.y == bottom:
            self._shift(top, bottom, 1)
        elif self.cursor.y < self.lines - 1:
            self.cursor.y += 1

    def reverse_index(self) -> None:
        """Move up; at the upper margin the rows move down."""
        top, _ = self._region()
        if self.cursor.y == top:
            self.scroll_down()
        elif self.cursor.y > 0:
            self.cursor.y -= 1

    def next_line(self) -> None:
        """Go to the beginning of the next row."""
        self.carriage_return()
        self.index()

    def cursor_up(self, count: int | None = None) -> None:
        """Move up, as far as the upper margin, or the edge from above that."""
        top, _ = self._region()
        self.ensure_hbounds()
        self.cursor.y = max(self.cursor.y - (count or 1), top if self.cursor.y >= top else 0)

    def cursor_down(self, count: int | None = None) -> None:
        """Move down, as far as the lower margin, or the edge from below that."""
        _, bottom = self._region()
        self.ensure_hbounds()
        self.cursor.y = min(self.cursor.y + (count or 1), bottom if self.cursor.y <= bottom else self.lines - 1)

    def set_margins(self, top: int | None = None, bottom: int | None = None) -> None:
        """Set the margins, or none; the cursor goes home."""
        super().set_margins(top, bottom)
        if self.margins is None:
            self.cursor_position()

    def insert_lines(self, count: int | None = None) -> None:
        """Move the rows from the cursor's on down; the cursor stays."""
        top, bottom = self._region()
        if top <= self.cursor.y <= bottom:
            self._shift(self.cursor.y, bottom, -min(count or 1, self.lines))

    def delete_lines(self, count: int | None = None) -> None:
        """Move the rows below the cursor's up over it; the cursor stays."""
        top, bottom = self._region()
        if top <= self.cursor.y <= bottom:
            self._shift(self.cursor.y, bottom, min(count or 1, self.lines))

    def scroll_up(self, count: int = 1) -> None:
        """Move the rows between the margins up, the cursor staying where it is (``indn``; tmux 3.3a does)."""
        top, bottom = self._region()
        count = min(count or 1, bottom - top + 1)
        if top == 0 and not self.alternate:
            self.scrolled.extend(row_text(self.buffer[row], self.columns) for row in range(count))
            self.scrolled_total += count
        self._shift(top, bottom, count)

    def scroll_down(self, count: int = 1) -> None:
        """Move the rows between the margins down (``rin``)."""
        top, bottom = self._region()
        self._shift(top, bottom, -min(count or 1, self.lines))

    def repeat(self, count: int = 1) -> None:
        """Draw the last character again (``rep``); no more than a row of it, which is what anybody asks for."""
        self.draw(self._drawn * min(count or 1, self.columns))

    def erase_in_display(self, how: int = 0, *_args: object, **_kwargs: object) -> None:
        """Erase below (0), above (1) or all (2) of the screen; 3 is only what has left it, and stays here."""
        if how in {0, 1, 2}:
            super().erase_in_display(how)

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        """Erase what is right (0) or left (1) of the cursor, or the row (2)."""
        if how in {0, 1, 2}:
            super().erase_in_line(how, private)

    def save_cursor(self) -> None:
        """Remember the cursor: the last one only, as terminals do."""
        super().save_cursor()
        del self.savepoints[:-1]

    def restore_cursor(self) -> None:
        """Put the cursor where it was saved; it can be put there again."""
        kept = [one._replace(cursor=copy.copy(one.cursor)) for one in self.savepoints]
        super().restore_cursor()
        if kept:
            self.cursor.y = min(kept[-1].cursor.y, self.lines - 1)
        self.savepoints[:] = kept

    def _region(self) -> tuple[int, int]:
        return self.margins or (0, self.lines - 1)

    def _shift(self, top: int, bottom: int, up: int) -> None:
        """Move rows up, or down by a negative number; those that come in are blank."""
        rows = {row - up: self.buffer.pop(row) for row in range(top, bottom + 1) if row in self.buffer}
        self.buffer.update({row: cells for row, cells in rows.items() if top <= row <= bottom})
        self.dirty.update(range(top, bottom + 1))

    def select_graphic_rendition(self, *attrs: int, **_kwargs: object) -> None:
        """Set attributes; colours are passed over whole, so that no part of one is read as an attribute."""
        plain: list[int] = []
        faint: bool | None = None
        numbers = list(attrs) or [0]
        while numbers:
            number = numbers.pop(0)
            if number in {38, 48, 58}:
                size = {5: 2, 2: 4}.get(numbers[0] if numbers else -1, 0)
                if number != 58:
                    plain += [number, *numbers[:size]]
                del numbers[:size]
            elif number == _FAINT:
                faint = True
            elif number in {0, _NOT_FAINT}:
                faint = False
                plain.append(number)
            elif number not in {5, 6, 25}:
                plain.append(number)
        if plain:
            super().select_graphic_rendition(*plain)
        if faint is not None:
            self.cursor.attrs = self.cursor.attrs._replace(blink=faint)

    def set_mode(self, *modes: int, **kwargs: Any) -> None:  # noqa: ANN401 - as pyte has it
        """Set modes; entering the alternate screen puts this one aside."""
        if kwargs.get("private") and _ALTERNATE & set(modes) and not self.alternate:
            self._swap()
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:  # noqa: ANN401 - as pyte has it
        """Reset modes; leaving the alternate screen brings the other back."""
        if kwargs.get("private") and _ALTERNATE & set(modes) and self.alternate:
            self._swap()
        super().reset_mode(*modes, **kwargs)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Take a new size. Rows leave at the top only so far as the cursor's would not be seen otherwise."""
        lines, columns = lines or self.lines, columns or self.columns
        gone = max(0, self.cursor.y - lines + 1)
        self.margins = None
        if gone:
            self.scroll_up(gone)
            self.cursor.y -= gone
        for row in range(lines, self.lines):
            self.buffer.pop(row, None)
        for cells in self.buffer.values():
            for column in [column for column in cells if column >= columns]:
                del cells[column]
        self.lines, self.columns = lines, columns
        self.ensure_hbounds()
        self.dirty.update(range(lines))

    def write_process_input(self, data: str) -> None:
        """Answer a question."""
        self.answer(data.encode())

    def reset(self) -> None:
        """Be as new, on the main screen."""
        self.alternate, self._other = False, None
        super().reset()

    def _swap(self) -> None:
        kept = (dict(self.buffer), self.cursor.x, self.cursor.y)
        self.buffer.clear()
        if self.alternate and self._other is not None:
            rows, column, row = self._other
            self.buffer.update(rows)
            self.cursor.x, self.cursor.y = min(column, self.columns - 1), min(row, self.lines - 1)
        self._other = kept if not self.alternate else None
        self.alternate = not self.alternate
        self.dirty.update(range(self.lines))


def row_text(row: Mapping[int, Char], columns: int) -> str:
    """The text of one row of cells, right-stripped."""
    return "".join([row[column].data for column in range(columns)]).rstrip() if row else ""
