"""The tap in Claude Code's settings: which command stands there, with it and without. Pure.

Nothing has to be remembered: the person's own command stands within ours, quoted, and every other key stays.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

PROGRAM = "statusline.py"
KEY = "statusLine"


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
        found = words[begin : words.index(";", begin)]
    except ValueError:
        return None
    return found if 2 <= len(found) <= 3 and found[0].endswith(PROGRAM) else None


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


def installed(settings: Mapping[str, Any], python: str, program: str, home: str) -> dict[str, Any]:
    """Return the settings with the tap. Doing it again changes nothing more. Raises like ``own_command``."""
    line = settings.get(KEY) or {}
    text = command(python, program, home, own_command(settings))
    return {**settings, KEY: {"type": "command", **line, "command": text}}


def uninstalled(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings as the person had them; the same where no tap is in them."""
    if tapped(settings) is None:
        return dict(settings)
    own = own_command(settings)
    if own is None:
        return {key: value for key, value in settings.items() if key != KEY}
    return {**settings, KEY: {**settings[KEY], "command": own}}
