"""What an interface said in a turn, read off its screen: the rows below the words it was given."""

from __future__ import annotations

from collections.abc import Callable

from .engine import SessionEvent
from .terminal import Terminal

_FRAMES = " ─━│┃╭╮╰╯┌┐└┘├┤═▀▄▔▁╌╹"
_WIDEST, _MOST_SENT = 180, 200


class TurnText:
    """One turn at a time: ``begin`` with what was sent, ``progress`` at rests, ``finish`` at its end."""

    def __init__(self, terminal: Terminal, emit: Callable[[SessionEvent], None]) -> None:
        """Nothing was sent yet."""
        self._terminal = terminal
        self._emit = emit
        self._head = ""
        self._sent: frozenset[str] = frozenset()
        self._scrolled = 0
        self._told: list[str] = []

    def begin(self, text: str) -> None:
        """A text is about to be sent."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        self._head = lines[0][:40] if lines else ""
        self._sent = frozenset(line[:_WIDEST] for line in lines[1:_MOST_SENT])
        self._scrolled = self._terminal.grid.scrolled_total
        self._told = []

    def progress(self, body: tuple[str, ...]) -> None:
        """Tell what is new so far."""
        rows = self._rows(body)
        fresh = _fresh(self._told, rows)
        if fresh:
            self._told += fresh
            self._emit({"type": "text", "text": "\n".join(fresh), "partial": True})

    def finish(self, body: tuple[str, ...], answer: str | None) -> None:
        """The turn ended. ``answer`` is the CLI's own record of what it said, where it has one."""
        self.progress(body)
        text = answer if answer is not None else "\n".join(self._rows(body))
        self._emit({"type": "end", "ok": True, "text": text.strip("\n")})
        self._told = []

    def _rows(self, body: tuple[str, ...]) -> list[str]:
        grid = self._terminal.grid
        gone = min(grid.scrolled_total - self._scrolled, len(grid.scrolled))
        rows = [*list(grid.scrolled)[len(grid.scrolled) - gone :], *body] if gone > 0 else list(body)
        start = next((place for place in range(len(rows) - 1, -1, -1) if self._head and self._head in rows[place]), -1)
        if start < 0 and gone <= 0 and self._head:
            return []  # what stands there is from before
        rest = rows[start + 1 :]
        while rest and self._sent and (plain(rest[0]).strip() in self._sent or not plain(rest[0])):
            rest.pop(0)
        kept = [plain(row) for row in rest]
        return [row for place, row in enumerate(kept) if row or (place and kept[place - 1])]


def plain(row: str) -> str:
    """A row without frames and what only draws lines."""
    text = row.rstrip()
    stripped = text.strip(_FRAMES)
    if not stripped:
        return ""
    if text.lstrip()[:1] in {"│", "┃"}:
        text = text.lstrip()[1:].rstrip("│┃ ")
    return text.rstrip()


def _fresh(told: list[str], rows: list[str]) -> list[str]:
    """The rows after those that were told: what stood the same at the beginning is left out."""
    place = 0
    while place < min(len(told), len(rows)) and told[place] == rows[place]:
        place += 1
    known = set(told[place:])
    return [row for row in rows[place:] if row and row not in known]
