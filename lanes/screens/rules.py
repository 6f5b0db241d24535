"""What each CLI's own interface looks like, as data with the versions it was seen on.

Outside a row's version range nothing is claimed: the state is ``unknown``. Patterns are linear in a row's length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

Version = tuple[int, ...]
_SPINNER = "⠁-⣿"
_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposerShape:
    """Where a person types, and how it is told from what stands above it."""

    kind: Literal["ruled", "glyph", "barred"]
    """Between two full-width rules; or from a glyph to the footer; or beside a bar that ends in a corner."""
    glyph: re.Pattern[str]
    """Begins its first row; what it matches is not part of the draft."""
    rules: str = "─"
    """The characters its rules are made of: above, below."""
    footer: re.Pattern[str] | None = None
    """What must stand somewhere below it."""
    footer_rows: int = 6
    placeholder: re.Pattern[str] = _NEVER
    """What it shows while nothing is typed."""
    ghost: bool = False
    """It may offer a text of its own choice behind the cursor."""
    pasted: re.Pattern[str] = _NEVER
    """The placeholder of a large paste."""
    beside: re.Pattern[str] | None = None
    """What stands beside it, and beside the conversation, at the ends of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuShape:
    """How its dialogs are drawn."""

    pointers: str
    """The characters that mark the highlighted row."""
    hint: re.Pattern[str] | None
    """What the last row of a dialog says; None where a box's lower edge ends it."""
    described: bool = False
    """Rows without a number between numbered ones are descriptions, not options."""
    title: re.Pattern[str] | None = None
    """What the window's title must say for any of it to be a dialog."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picker:
    """How its model is switched from inside."""

    command: str
    """The slash command that opens it, or that takes the name."""
    takes_name: bool = False
    """The command switches at once when it is given the name."""
    confirm: str = "enter"
    """The key that takes the highlighted row, for this session only where there is such a key."""
    way: str | None = None
    """The row that leads to the menu with the rest of the choices."""
    further: bool = False
    """More menus may follow (an effort, a confirmation): what goes on in them is taken."""
    further_confirm: str = "enter"
    """The key that takes it there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenRules:
    """One CLI's interface."""

    cli: str
    since: Version
    until: Version
    """The first version the patterns are not claimed for."""
    composer: ComposerShape
    menu: MenuShape
    working: re.Pattern[str] = _NEVER
    """A row of the footer, while it works."""
    working_above: re.Pattern[str] = _NEVER
    """One of the few rows above the composer, while it works. It must not fit what a conversation can show there."""
    title_working: re.Pattern[str] = _NEVER
    status_rows: int = 4
    chrome: re.Pattern[str] = _NEVER
    """Rows of the interface's own between the conversation and the composer."""
    starting: re.Pattern[str] = _NEVER
    unready: re.Pattern[str] = _NEVER
    """The last row of the conversation (empty where there is none) while a composer is drawn that may yet give way to
    the first questions."""
    trust: re.Pattern[str] = _NEVER
    login: re.Pattern[str] = _NEVER
    limit: re.Pattern[str] = _NEVER
    approval: re.Pattern[str] = _NEVER
    letters: re.Pattern[str] | None = None
    """A dialog that is answered by a letter: its row of choices."""
    buttons: re.Pattern[str] | None = None
    """A dialog whose choices stand side by side: its row of choices."""
    advert: re.Pattern[str] = _NEVER
    """A pop-up that Escape closes."""
    model: re.Pattern[str] | None = None
    """The model in the footer; its first group names it."""
    picker: Picker | None = None
    clear: str = "\x15"
    """Empties the composer."""
    interrupt: str = "\x1b"
    quit: tuple[str, ...] = ("\x03", "\x03")
    """The keys that make it leave politely."""
    notes: tuple[str, ...] = field(default=())


def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_LIMIT = _re(
    r"(?i)\b(usage limit (has been )?(reached|exceeded)|hit your [^.]{0,40}limit|limit reached|out of credits"
    r"|quota exceeded)"
)
_TRUST = _re(
    r"(?i)\btrust (this|the files in this|the contents of this) ?folder|Accessing workspace|Confirm folder trust"
    r"|custom API key"
)
_LOGIN = _re(
    r"(?i)(please |how would you like to )(log ?in|sign ?in|authenticate)|select login method|get started"
    r"|sign in with|authentication failed"
)

CLAUDE = ScreenRules(
    cli="claude",
    since=(2, 1, 300),
    until=(2, 2),
    composer=ComposerShape(
        kind="ruled",
        glyph=_re(r"[❯!#][ \xa0]?"),
        footer_rows=14,
        placeholder=_re(r"Try \"|Press up to edit"),
        pasted=_re(r"\[Pasted text #\d+"),
    ),
    menu=MenuShape(
        pointers="❯", hint=_re(r"(?i)\b(esc to (cancel|exit|close|go back)|enter to (confirm|select|save))\b")
    ),
    working=_re(r"esc to interrupt\b"),
    working_above=_re(r"^[✢✳✶✻✽·*] \S{1,40}… \("),
    title_working=_re(r"^[◐◓◑◒⠁-⣿]"),
    chrome=_re(r"^[✢✳✶✻✽·*] \S+ for \d|^[✢✳✶✻✽·*] \S{1,40}…(?: \(|$)"),
    trust=_TRUST,
    login=_LOGIN,
    limit=_LIMIT,
    approval=_re(r"(?i)\b(do you want to|would you like to proceed|allow )"),
    picker=Picker(command="/model", confirm="s", further=True),
    quit=("\x03", "\x03"),
)

CODEX = ScreenRules(
    cli="codex",
    since=(0, 171),
    until=(0, 172),
    composer=ComposerShape(
        kind="glyph",
        glyph=_re(r"› ?"),
        footer=_re(r"^ {2}\S.{0,120} · [/~]"),
        footer_rows=4,
        placeholder=_re(r"Ask Codex to do anything"),
        pasted=_re(r"\[Pasted Content \d+ chars\]"),
    ),
    menu=MenuShape(
        pointers="›", hint=_re(r"(?i)\benter\b.{0,30}\b(confirm|continue|select)|\benter/esc confirm|\besc back\b")
    ),
    working=_re(r"esc to interrupt\b"),
    title_working=_re(rf"^[{_SPINNER}]"),
    chrome=_re(r"^  Worked for [\d<]"),
    trust=_TRUST,
    login=_LOGIN,
    limit=_LIMIT,
    approval=_re(r"(?i)\bwould you like to (run|make|grant|send|allow)|\ballow (codex|command)|needs your approval"),
    model=_re(r"^ {2}([A-Za-z][\w.-]{1,60})(?: [a-z]+)? · [/~]"),
    picker=Picker(command="/model", further=True, further_confirm="s"),
    quit=("\x03", "\x03"),
)

GEMINI = ScreenRules(
    cli="gemini",
    since=(0, 61),
    until=(0, 62),
    composer=ComposerShape(
        kind="ruled",
        glyph=_re(r" [>!*] ?"),
        rules="▄▀",
        footer=_re(r"workspace \(/directory\)"),
        footer_rows=8,
        placeholder=_re(r" {0,2}Type your message or @path/to/file"),
        pasted=_re(r"\[Pasted Text: \d+ (lines|chars)"),
    ),
    menu=MenuShape(pointers="●", hint=None, described=True, title=_re(r"^[✋◇]")),
    working_above=_re(rf"^ [{_SPINNER}] .{{1,200}}\(esc to cancel"),
    title_working=_re(r"^✦"),
    chrome=_re(r"\? for shortcuts$|^ Shift\+Tab to |^ Press Ctrl\+O|\(esc to cancel, \d"),
    unready=_re(r"^$|^ Gemini CLI is restarting "),
    trust=_TRUST,
    login=_LOGIN,
    limit=_LIMIT,
    approval=_re(r"(?i)^(apply this change|allow execution|do you want to proceed)"),
    picker=Picker(command="/model", way="Manual"),
)

QWEN = ScreenRules(
    cli="qwen",
    since=(0, 24),
    until=(0, 25),
    composer=ComposerShape(
        kind="ruled",
        glyph=_re(r"[>!*] ?"),
        footer_rows=16,
        placeholder=_re(r" {0,2}Type your message or @path/to/file"),
        ghost=True,
        pasted=_re(r"\[Pasted Content \d+ chars\]"),
    ),
    menu=MenuShape(
        pointers="›●",
        hint=_re(r"(?i)waiting for user confirmation|enter to select|use enter to|\besc to close"),
        described=True,
    ),
    working=_re(r"^ {2}Enter to steer"),
    working_above=_re(rf"^ {{2}}[{_SPINNER}] .{{1,200}}esc to cancel\)"),
    title_working=_re(r"^[◐◓◑◒]"),
    chrome=_re(r"^ {2}Ctrl\+Q to queue "),
    starting=_re(r"Initializing\.\.\."),
    trust=_TRUST,
    login=_LOGIN,
    limit=_LIMIT,
    approval=_re(r"(?i)^(apply this change|allow execution of|do you want to proceed)"),
    model=_re(r"^ {2}➜ .* · ([\w./:-]{2,80})$"),
    picker=Picker(command="/model", takes_name=True),
)

COPILOT = ScreenRules(
    cli="copilot",
    since=(1, 0, 90),
    until=(1, 1),
    composer=ComposerShape(kind="ruled", glyph=_re(r"❯ ?"), footer_rows=3, pasted=_re(r"\[Pasted? ")),
    menu=MenuShape(pointers="❯", hint=_re(r"(?i)enter to select|esc to cancel")),
    working=_re(r"^ [◎◉●○◐◓◑◒] \S.{0,60}\b(interrupt|edit prompt)\b"),
    chrome=_re(r"^ [/~]"),
    trust=_TRUST,
    login=_LOGIN,
    limit=_LIMIT,
    approval=_re(r"(?i)^do you want to (create|run|edit|allow|make|apply|delete)"),
    model=_re(r" {3}([\w./:-]{2,80})$"),
)

OPENCODE = ScreenRules(
    cli="opencode",
    since=(1, 18),
    until=(1, 19),
    composer=ComposerShape(
        kind="barred",
        glyph=_re(r"┃ {0,2}"),
        footer_rows=3,
        placeholder=_re(r"Ask anything…"),
        pasted=_re(r"\[Pasted ~?\d+ lines"),
        beside=_re(r" {12}\S.{0,60}$"),
    ),
    menu=MenuShape(pointers="", hint=None),
    working=_re(r"\besc (again to )?interrupt\b"),
    chrome=_re(r"^ {3,6}▣ "),
    approval=_re(r"△ Permission required"),
    buttons=_re(r"^ {0,3}Allow once {2,}Allow always {2,}Reject\b|^ {0,3}Confirm {2,}Cancel\b"),
    limit=_LIMIT,
)

PI = ScreenRules(
    cli="pi",
    since=(0, 73),
    until=(0, 74),
    composer=ComposerShape(
        kind="ruled", glyph=_re(r""), footer=_re(r"\d%/\d"), footer_rows=4, pasted=_re(r"\[paste #\d+")
    ),
    menu=MenuShape(pointers="→", hint=_re(r"\d%/\d")),
    working_above=_re(rf"^ [{_SPINNER}] \S"),
    limit=_LIMIT,
    model=_re(r" {3}([\w./:-]{2,80})(?: • \w+)?$"),
)

CLINE = ScreenRules(
    cli="cline",
    since=(3, 0, 60),
    until=(3, 1),
    composer=ComposerShape(
        kind="ruled",
        glyph=_re(r"❯ ?"),
        footer=_re(r"Plan ● Act|● Plan ○ Act"),
        placeholder=_re(r"What can I do for you\?|Ask anything\.\.\."),
        beside=_re(r" █$"),
    ),
    menu=MenuShape(pointers="❯", hint=_re(r"(?i)enter to (select|open)")),
    working_above=_re(rf"^ [{_SPINNER}] \S"),
    chrome=_re(rf"^ [{_SPINNER}] \S"),
    approval=_re(r"Cline needs permission"),
    letters=_re(r"^ {0,4}\[y\] Approve {2,}\[n\] Deny\s*$"),
    advert=_re(r"Press Enter to open, any other key to close"),
    model=_re(r"^ {0,30}([\w./:-]{2,80}) \([\d,.]+[km]?\) \$"),
    limit=_LIMIT,
)

DROID = ScreenRules(
    cli="droid",
    since=(0, 215),
    until=(0, 216),
    composer=ComposerShape(kind="ruled", glyph=_NEVER),
    menu=MenuShape(pointers=">", hint=None),
    login=_re(r"(?i)please login with your Factory account|authentication failed"),
    notes=(
        "Only its sign-in was seen (0.215.0): offline its interface shows nothing else, though its headless runs work.",
        "What stands after it is unknown, and nothing is typed into it.",
    ),
)

RULES: dict[str, ScreenRules] = {
    rules.cli: rules for rules in (CLAUDE, CODEX, GEMINI, QWEN, COPILOT, OPENCODE, PI, CLINE, DROID)
}


def rules_for(cli: str, version: Version | None) -> ScreenRules | None:
    """The rules that are claimed for a CLI at a version, or None."""
    rules = RULES.get(cli)
    if rules is None or version is None or not rules.since <= version < rules.until:
        return None
    return rules


def version_of(text: str) -> Version | None:
    """The first dotted number in what ``--version`` printed, or None."""
    found = re.search(r"(?<![\w.])v?(\d{1,6}(?:\.\d{1,6}){1,3})", text[:4096])
    return tuple(int(part) for part in found[1].split(".")) if found else None


def dotted(version: Version) -> str:
    """A version as people write it."""
    return ".".join(str(part) for part in version)
