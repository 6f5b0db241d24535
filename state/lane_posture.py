"""What a lane is remembered to refuse: one line a file, ``lane-posture/LANE.autonomous`` in the state home.

An organisation that forbids a mode forbids it for the next job too: asking again costs a start and
says the same. ``osrc posture reset`` forgets.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from .errors import StateError, from_os_error
from .files import FILES, Files, read_private, write_private
from .home import Home

FOLDER = "lane-posture"
AUTONOMOUS = "autonomous"
RESTRICTED = "restricted"
LIMIT = 4096
MOST = 500
_NAME = re.compile(r"([a-z][a-z0-9_-]{0,63})\.([a-z][a-z0-9_-]{0,63})")


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing that is remembered."""

    lane: str
    key: str
    value: str
    at: float
    """When it was written, epoch seconds."""


def marks(home: Home) -> list[Mark]:
    """Return what is remembered, by name. What can't be read is passed over: it restricts nothing."""
    found = []
    folder = home.root / FOLDER
    try:
        names = sorted(os.listdir(folder))[:MOST]  # noqa: PTH208  names are all that is wanted
    except OSError:
        return []
    for name in names:
        mark = _read(folder, name)
        if mark is not None:
            found.append(mark)
    return found


def restricted(home: Home, lane: str) -> bool:
    """Whether a lane is remembered to refuse to work autonomously."""
    mark = _read(home.root / FOLDER, f"{lane}.{AUTONOMOUS}")
    return mark is not None and mark.value == RESTRICTED


def remember(home: Home, lane: str, *, files: Files = FILES) -> None:
    """Remember that a lane refuses to work autonomously. Raises StateError."""
    if _NAME.fullmatch(f"{lane}.{AUTONOMOUS}") is None:
        return
    folder = home.root / FOLDER
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise from_os_error(error, folder, "create") from error
    write_private(folder / f"{lane}.{AUTONOMOUS}", f"{RESTRICTED}\n".encode(), files=files)


def reset(home: Home) -> list[Mark]:
    """Forget everything; return what there was. Raises StateError for a mark that can't be removed."""
    known = marks(home)
    for mark in known:
        path = home.root / FOLDER / f"{mark.lane}.{mark.key}"
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise from_os_error(error, path, "remove") from error
    return known


def _read(folder: Path, name: str) -> Mark | None:
    named = _NAME.fullmatch(name)
    if named is None:
        return None
    path = folder / name
    try:
        data = read_private(path, LIMIT)
        at = os.lstat(path).st_mtime
    except (StateError, OSError):
        return None
    if data is None:
        return None
    value = "".join(character for character in data.decode("utf-8", "replace") if character.isprintable())
    return Mark(named[1], named[2], value.strip()[:200], at)
