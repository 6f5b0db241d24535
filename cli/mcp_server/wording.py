"""A refusal in a tool's own words: where it names an option of the command line, the tool's parameter. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

_COMMAND = re.compile(r"(\bosrc [^;,()]*)")
"""A command to type, up to where the sentence goes on: its options stay."""

_OPTION = re.compile(r"(?<![\w-])(?:--[a-z][a-z-]*|-m)(?![\w-])")

_OTHERWISE = {
    "-m": ("model", "models"),
    "--max": ("max_at_once", "max_laps"),
    "--ladder": ("models",),
    "--seats": ("models",),
    "--yolo": ("unasked",),
}
"""Options whose parameter has another name; the first that a tool has."""


def in_parameters(words: str, parameters: Collection[str]) -> str:
    """Return a refusal for a host that can give ``parameters``; an option that is none of them stays as it is.

    >>> in_parameters("take --lane codex, or osrc lanes show codex --json", ("task", "lane"))
    'take lane codex, or osrc lanes show codex --json'
    """

    def named(found: re.Match[str]) -> str:
        option = found[0]
        if option.startswith("--no-") and (switch := option[5:].replace("-", "_")) in parameters:
            return f"{switch} false"
        plain = option[2:].replace("-", "_")
        meant = _OTHERWISE.get(option, (plain, f"{plain}_s"))
        return next((name for name in meant if name in parameters), option)

    parts = _COMMAND.split(words)
    return "".join(part if place % 2 else _OPTION.sub(named, part) for place, part in enumerate(parts))
