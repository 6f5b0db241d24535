"""Text that is safe to show: control sequences out, width bounded. Linear time on any input."""

from __future__ import annotations

import re

# One alternative per introducer, each a run that can't backtrack: the next character decides.
_SEQUENCES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]?"  # CSI
    r"|\x9b[0-?]*[ -/]*[@-~]?"  # CSI, as one C1 character
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"  # every other escape
)
_DIRECTION = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that turn the order of what follows: they make a text look like another one."""
_CONTROLS = dict.fromkeys(code for code in (*range(0x20), *range(0x7F, 0xA0), *_DIRECTION) if chr(code) not in "\t\n")
_SHORT = 1 << 16
_ONE_LINE = {**_CONTROLS, ord("\t"): " ", ord("\n"): " "}


def strip_controls(text: str) -> str:
    r"""Return ``text`` with every terminal and direction control removed; tab and newline stay, CR LF becomes LF.

    >>> strip_controls("\x1b[31mred\x1b[0m \x1b]0;title\x07ok\r\n")
    'red ok\n'
    """
    if text.isprintable() or (len(text) < _SHORT and text.replace("\n", "").isprintable()):
        return text  # nearly always; the pattern is not even compiled
    return re.sub(_SEQUENCES, "", text).translate(_CONTROLS)


def one_line(text: str, width: int) -> str:
    r"""Return ``text`` as one line of at most ``width`` characters, control sequences removed.

    >>> one_line("a\nlong line", 7)
    'a long…'
    """
    # Only what can be shown is looked at: a delegate's line may be megabytes long.
    if text.isprintable() and "  " not in text and len(text) <= width:
        return text.strip()  # nearly always; the pattern is not even compiled
    flat = " ".join(re.sub(_SEQUENCES, "", text[: 8 * width + 256]).translate(_ONE_LINE).split())
    if len(flat) <= width:
        return flat
    return flat[: max(width - 1, 0)].rstrip() + "…"
