"""How a person wants work handed on: one word, remembered in the state home.

``auto``    (A) advice is followed where no model was named
``manual``  (B) nothing is chosen by advice; ``osrc advise`` tells it to whoever asks
``hybrid``  (C) advice is said, and the ordinary choice is kept
"""

from __future__ import annotations

import os
from pathlib import Path

from .errors import StateError, from_os_error, printable
from .files import FILES, Files, read_private, write_private
from .home import Home

FILE = "mode"
LIMIT = 4096
MODES = {"auto": "A", "manual": "B", "hybrid": "C"}
"""Mode → its letter."""


def mode_file(home: Home) -> Path:
    """Return where it is kept."""
    return home.root / FILE


def read_mode(home: Home) -> str | None:
    """Return the mode; None where none was chosen, or what is there is none. Never raises."""
    return seen_mode(home)[0]


def seen_mode(home: Home) -> tuple[str | None, str | None]:
    """Return the mode, and a sentence about a file that is there and holds none. Never raises."""
    path = mode_file(home)
    try:
        data = read_private(path, LIMIT)
    except StateError as error:
        return None, f"the driving mode can't be read: {error.message}; osrc mode reset forgets it"
    except OSError as error:
        return None, f"the driving mode can't be read: {error.strerror or error}"
    if data is None:
        return None, None
    mode = word_of(data.decode("utf-8", "replace"))
    return mode, None if mode else f"{printable(path)} holds no driving mode; osrc mode auto|manual|hybrid sets one"


def word_of(text: str) -> str | None:
    """Return the mode that a word or a letter names; None for any other."""
    word = text.strip().lower()
    letters = {letter.lower(): mode for mode, letter in MODES.items()}
    return word if word in MODES else letters.get(word)


def write_mode(home: Home, mode: str, *, files: Files = FILES) -> None:
    """Remember a mode, whole or not at all. Raises StateError."""
    home.preflight(files)
    write_private(mode_file(home), f"{mode}\n".encode(), fsync=True, files=files)


def forget_mode(home: Home) -> bool:
    """Forget it; return whether there was one. Raises StateError where it can't be removed."""
    path = mode_file(home)
    try:
        os.unlink(path)  # noqa: PTH108 - one system call: there is no moment at which half of it is gone
    except FileNotFoundError:
        return False
    except OSError as error:
        raise from_os_error(error, path, "remove") from error
    return True
