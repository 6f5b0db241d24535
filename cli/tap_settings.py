"""The tap in Claude Code's settings: which command stands there, with it and without. Pure.

The person's own command stands within ours, quoted, so that it comes back also where nothing else is remembered.
Everything beside that one value stays as it was written (``settings_text``).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from .settings_text import member, members, whole, with_member, with_value, without_member

PROGRAM = "statusline.py"
KEY = "statusLine"
LONGEST = 120_000
"""Bytes of a command: no system takes more in one word than 128 KiB."""


def command(python: str, program: str, home: str, own: str | None) -> str:
    """Return the command. Where the program is gone one day, the person's own still runs."""
    first, script = shlex.quote(python), shlex.quote(program)
    words = [first, "-I", "-S", script, shlex.quote(home), *([] if own is None else [shlex.quote(own)])]
    otherwise = "cat >/dev/null" if own is None else f"eval {shlex.quote(own)}"
    return f"if [ -x {first} ] && [ -r {script} ] ; then {' '.join(words)} ; else {otherwise} ; fi"


def within(text: object) -> list[str] | None:
    """Return the words of our command (program, state home, perhaps the person's own); None for one not of ours."""
    if not isinstance(text, str) or PROGRAM not in text or not text.startswith("if [ -x "):
        return None
    try:
        words = shlex.split(text)
        begin = words.index("then") + 4
    except ValueError:
        return None
    for count in (2, 3):  # the person's own may be a lone semicolon
        found, after = words[begin : begin + count], words[begin + count : begin + count + 2]
        if after == [";", "else"] and found[0].endswith(PROGRAM):
            return found
    return None


def own_command(settings: Mapping[str, Any]) -> str | None:
    """Return the person's own command, with the tap or without it; None where there is none.

    Raises ValueError, a sentence, for a status line of a kind that can't be tapped.
    """
    line = settings.get(KEY)
    if line is None:
        return None
    text = line.get("command") if isinstance(line, dict) else None
    if not isinstance(text, str) or line.get("type", "command") != "command":
        raise ValueError(f"its {KEY} is not a command")
    words = within(text)
    if words is None:
        return text
    return words[2] if len(words) == 3 else None


def tapped(settings: Mapping[str, Any]) -> list[str] | None:
    """Return the words of the tap that is installed; None without one."""
    line = settings.get(KEY)
    return within(line.get("command")) if isinstance(line, dict) else None


def installed(text: str, python: str, program: str, home: str) -> str:
    """Return the settings' text with the tap. Doing it again changes nothing more.

    Raises ValueError, a sentence, for a text that is no JSON object, and like ``own_command``.
    """
    words = command(python, program, home, own_command(whole(text)))
    if len(words.encode(errors="replace")) > LONGEST:
        raise ValueError(f"its {KEY} is too long to be run within another command")
    ours = _quoted(words)
    line = member(members(text), KEY)
    if line is None:
        return with_member(text, KEY, f'{{"type": "command", "command": {ours}}}')
    if line.value is None:
        return with_value(text, line, f'{{"type": "command", "command": {ours}}}')
    return _with_command(text, line.begin, ours)


def uninstalled(text: str) -> str:
    """Return the settings' text with the person's own command, or none, where the tap is. Raises like ``installed``."""
    settings = whole(text)
    if tapped(settings) is None:
        return text
    own = own_command(settings)
    line = member(members(text), KEY)
    if own is None or line is None:
        return without_member(text, KEY)
    return _with_command(text, line.begin, _quoted(own))


def _with_command(text: str, line_at: int, value: str) -> str:
    one = member(members(text, line_at), "command")
    if one is None:
        raise ValueError(f"its {KEY} is not a command")
    return with_value(text, one, value)


def _quoted(text: str) -> str:
    """Return a text as JSON that UTF-8 can hold: half of a surrogate pair stays an escape."""
    plain = json.dumps(text, ensure_ascii=False)
    return plain if plain.isascii() or not any("\ud800" <= one <= "\udfff" for one in plain) else json.dumps(text)
