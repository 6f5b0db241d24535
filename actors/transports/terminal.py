"""A terminal that remembers: bytes of a program in, a ``Screen`` and answers to its questions out.

It says that it is a plain xterm: it answers device attributes, status and cursor position, and is silent
where it can't keep a promise (the kitty keyboard). The emulation is pyte's, mended (``grid.py``); the reading of
the byte stream is ours, because pyte's own reader draws strings it does not know (device control, kitty graphics)
as text, loses the rest of a chunk after a zero-width character, and raises on private modes (seen: pyte 0.8.2).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping

import pyte
from pyte.screens import Char

from ...lanes.screens.model import Screen, Span
from .grid import Grid

COLUMNS, ROWS = 200, 50
PENDING_CAP = 8192
"""An escape sequence longer than this is read past, not kept."""
MOMENT = re.compile(
    rb"\x1b\[\?2026l|\x07|\x1b\[\?25h|(?=\x1b\[\?25l)"  # a whole frame, a title, a cursor shown again or hidden
    rb"|(?<!\x1b\[1A)(?=\x1b\[2K\x1b\[1A)"  # rows are wiped upwards: the next frame of an interface without such ends
)
"""Where output may have shown something that the next bytes take away."""
_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|\x1b\[(?P<prefix>[<=>?]?)(?P<parameters>[0-9;:]*)(?P<middle>[ -/]*)(?P<final>[@-~])"
    r"|\x1b\](?P<command>[^\x07\x1b\x9c]*)(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b(?P<escape>[0-OQ-WYZ\\`-~])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x9f])",
)
_STRING_END = re.compile(r"\x07|\x1b\\|\x9c")
_ESCAPES = {
    "c": "reset",
    "D": "index",
    "E": "next_line",
    "M": "reverse_index",
    "H": "set_tab_stop",
    "7": "save_cursor",
    "8": "restore_cursor",
}
_CONTROLS = {
    "\b": "backspace",
    "\t": "tab",
    "\n": "linefeed",
    "\v": "linefeed",
    "\f": "linefeed",
    "\r": "carriage_return",
}
_OURS = {"S": "scroll_up", "T": "scroll_down", "b": "repeat", "s": "save_cursor", "u": "restore_cursor"}
_SEQUENCES = {name: method for name, method in pyte.Stream.csi.items() if name not in "cn'"} | _OURS


class Terminal:
    """Feed it what the program wrote; ask it for the picture. ``reply`` gets what the program must be told."""

    def __init__(
        self, columns: int = COLUMNS, rows: int = ROWS, reply: Callable[[bytes], None] = lambda _: None
    ) -> None:
        self.grid = Grid(columns, rows)
        self.reply = self.grid.answer = reply
        self.bracketed_paste = False
        self.application_cursor = False
        self.in_frame = False
        """Whether the program is in the middle of a frame that it wants shown at once."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._skipping = False
        self._rows: list[tuple[str, str, tuple[Span, ...]]] = [("", "", ())] * rows

    def resize(self, columns: int, rows: int) -> None:
        """Take a new size."""
        self.grid.resize(lines=rows, columns=columns)
        self._rows = [("", "", ())] * rows
        self.grid.dirty.update(range(rows))

    def feed(self, data: bytes) -> None:
        """Take what the program wrote. Never raises, whatever the bytes; linear in their number."""
        text = self._pending + self._decoder.decode(data)
        self._pending = ""
        if self._skipping:
            end = _STRING_END.search(text)
            if end is None:
                self._pending = text[-1:] if text.endswith("\x1b") else ""
                return
            text, self._skipping = text[end.end() :], False
        position, length = 0, len(text)
        while position < length:
            token = _TOKEN.match(text, position)
            if token is None:
                rest = text[position:]
                if len(rest) <= PENDING_CAP and _unfinished(rest):
                    self._pending = rest
                    return
                if rest[1:2] in {"]", "P", "X", "^", "_"} and "\x1b" not in rest[1:-1]:
                    self._skipping = True
                    return
                position += 1
                continue
            position = token.end()
            self._take(token)

    def _take(self, token: re.Match[str]) -> None:
        kind = token.lastgroup
        if kind == "text":
            self.grid.draw(token["text"])
        elif kind == "final":
            self._sequence(token["prefix"], token["parameters"], token["middle"], token["final"])
        elif kind == "control":
            method = _CONTROLS.get(token["control"])
            if method:
                getattr(self.grid, method)()
        elif kind == "escape":
            method = _ESCAPES.get(token["escape"])
            if method:
                getattr(self.grid, method)()
        elif kind == "command":
            code, _, title = token["command"].partition(";")
            if code in {"0", "2"}:
                self.grid.set_title(title[:1000])

    def _sequence(self, prefix: str, parameters: str, middle: str, final: str) -> None:
        if middle:
            return
        if final == "n" and not prefix:
            self.grid.report_device_status(int(parameters[:4] or 0) if parameters.isdigit() else 0)
        elif final == "c":
            answers = {"": b"\x1b[?1;2c", ">": b"\x1b[>0;276;0c"}
            if prefix in answers and parameters in {"", "0"}:
                self.reply(answers[prefix])
        elif final == "t":
            if parameters == "18":
                self.reply(b"\x1b[8;%d;%dt" % (self.grid.lines, self.grid.columns))
        elif final in _SEQUENCES and prefix in {"", "?"}:
            self._apply(final, numbers_of(parameters, colons=final == "m"), private=prefix == "?")

    def _apply(self, final: str, numbers: list[int], *, private: bool) -> None:
        if private:
            if final not in "hlJK":
                return
            if final in "hl":
                self._private_modes(numbers, on=final == "h")
        method = getattr(self.grid, _SEQUENCES[final])
        if final in "su":
            if not numbers:  # with numbers they are margins at the sides, or a key of kitty's
                method()
        elif final == "m":
            method(*numbers)
        elif final in "hl":
            method(*numbers, private=private)
        elif final in "JK":
            method(*numbers[:1])
        else:
            method(*numbers[:2] if final in "Hfr" else numbers[:1])

    def _private_modes(self, numbers: list[int], *, on: bool) -> None:
        for number in numbers:
            if number == 2004:
                self.bracketed_paste = on
            elif number == 1:
                self.application_cursor = on
            elif number == 2026:
                self.in_frame = on

    def screen(self) -> Screen:
        """The picture now. Only rows that changed are read again."""
        grid = self.grid
        for row in grid.dirty:
            if row < grid.lines:
                self._rows[row] = read_row(grid.buffer[row], row, grid.columns)
        grid.dirty.clear()
        return Screen(
            lines=tuple(text for text, _, _ in self._rows),
            bright=tuple(bright for _, bright, _ in self._rows),
            marked=tuple(span for _, _, spans in self._rows for span in spans),
            cursor=(grid.cursor.y, grid.cursor.x),
            alternate=grid.alternate,
            title=grid.title,
        )


def _unfinished(rest: str) -> bool:
    """Whether text that begins with an escape may become a sequence when more comes."""
    second = rest[1:2]
    if second == "[":
        return re.fullmatch(r"\x1b\[[<=>?]?[0-9;:]*[ -/]*", rest) is not None
    if second in {"]", "P", "X", "^", "_"} and second:
        return "\x1b" not in rest[2:-1] and (not rest.endswith("\x1b") or len(rest) > 2)
    return re.fullmatch(r"\x1b[ -/]*", rest) is not None


def numbers_of(parameters: str, *, colons: bool = False) -> list[int]:
    """The numbers of a control sequence. Of one with sub-parameters (an underline's style) the first counts."""
    found: list[int] = []
    for part in parameters.split(";") if parameters else ():
        head, *rest = part.split(":")
        numbers = [min(int(word[:5]), 9999) if word else 0 for word in (head, *(rest if colons else ()))]
        if numbers[0] in {38, 48, 58} and len(numbers) > 1:
            kind, values = numbers[1], numbers[2:]
            found += [numbers[0], kind, *(values[-3:] if kind == 2 else values[:1])]
        else:
            found.append(numbers[0])
    return found


def read_row(row: Mapping[int, Char], number: int, columns: int) -> tuple[str, str, tuple[Span, ...]]:
    """One row as text, as text without what is faint, and its highlighted spans."""
    if not row:
        return "", "", ()
    cells = [row[column] for column in range(min(max(row) + 1, columns))]
    text = "".join([cell.data for cell in cells]).rstrip()
    if not any(cell.blink or cell.reverse or cell.bg != "default" for cell in cells):
        return text, text, ()
    bright = "".join([" " if cell.blink else cell.data for cell in cells]).rstrip()
    spans: list[Span] = []
    start, paint = 0, ""
    for column, cell in enumerate(cells):
        here = f"{cell.fg}/{cell.bg}" if cell.reverse else "" if cell.bg == "default" else cell.bg
        if here != paint:
            if paint:
                spans.append(Span(number, start, column, paint))
            start, paint = column, here
    if paint:
        spans.append(Span(number, start, len(cells), paint))
    return text, bright, tuple(spans)
