"""The words that screens are told in. Plain frozen values: the holder imports them and must stay light."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class State(StrEnum):
    """What a terminal interface is doing, as far as its screen shows it."""

    STARTING = "starting"
    TRUST = "trust"
    """It asks whether the folder (or a key found in the environment) may be trusted."""
    LOGIN = "login"
    MENU = "menu"
    """Some other dialog: a resume menu, a picker, an offer."""
    IDLE = "idle"
    WORKING = "working"
    WAITING_APPROVAL = "waiting-approval"
    LIMIT = "limit"
    EXITED = "exited"
    UNKNOWN = "unknown"


class Composer(StrEnum):
    """The place where a person types."""

    EMPTY = "empty"
    DRAFT = "draft"
    PASTED = "pasted"
    """It holds a placeholder that stands for a large paste."""
    HIDDEN = "hidden"
    """A dialog or nothing is where it would be."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring cells of one row that are drawn reversed or on one background: how some menus show a choice."""

    row: int
    start: int
    end: int
    """One past the last cell."""
    paint: str = ""
    """Which background, as far as it tells one span from another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """One picture of a terminal."""

    lines: tuple[str, ...]
    """Every row, right-stripped; a wide character is one character."""
    bright: tuple[str, ...] = ()
    """The same rows with what is drawn faint blanked out: placeholders are faint, what was typed is not."""
    marked: tuple[Span, ...] = ()
    cursor: tuple[int, int] = (0, 0)
    """Row and column."""
    alternate: bool = False
    title: str = ""

    def text(self) -> str:
        """All rows joined."""
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One row of a menu."""

    index: int
    """From 1: its printed number where it has one, else its place."""
    label: str
    selected: bool = False
    key: str | None = None
    """The letter that chooses it at once, where the menu is one of letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Menu:
    """A dialog that waits for a choice."""

    question: str
    options: tuple[Option, ...]
    across: bool = False
    """Its options stand side by side: left and right move, not up and down."""

    @property
    def selected(self) -> Option | None:
        """The highlighted option, if exactly one is."""
        chosen = [option for option in self.options if option.selected]
        return chosen[0] if len(chosen) == 1 else None

    @property
    def fingerprint(self) -> str:
        """What makes it this menu and no other, whichever option is highlighted."""
        return "\x1f".join((self.question, *(f"{option.index}:{option.label}" for option in self.options)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenState:
    """What a screen was found to show."""

    state: State
    evidence: str
    """The row, or the reason, that the finding rests on."""
    menu: Menu | None = None
    composer: Composer = Composer.UNKNOWN
    draft: str = ""
    """What the composer holds."""
    model: str | None = None
    """The model that the interface names; None where it does not or where it is ambiguous."""
    body: tuple[str, ...] = field(default=(), repr=False)
    """The rows above the composer or dialog: the conversation."""
