"""How much disk a folder takes, looked at for a bounded time."""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

MOST_ENTRIES = 200_000
MOST_S = 2.0


@dataclass(frozen=True, slots=True)
class Weight:
    """What was found. ``whole`` False: there is more, the look was ended by a bound or something is unreadable."""

    taken: int
    """Bytes of disk, as blocks: a sparse file counts what it takes."""
    whole: bool


def weigh(path: str, *, most_entries: int = MOST_ENTRIES, most_s: float = MOST_S) -> Weight | None:
    """Return what the files below ``path`` take, or None where there is no such folder.

    Follows no symbolic link and leaves the file system of ``path`` at no point; a file with several names counts once.
    """
    try:
        root = Path(path).stat()  # the folder itself may be a link to where somebody has room
    except (OSError, ValueError):
        return None
    if not stat.S_ISDIR(root.st_mode):
        return None
    taken, left, seen, whole = 0, most_entries, set[int](), True
    folders, end = deque([path]), time.monotonic() + most_s
    while folders:
        if left <= 0 or time.monotonic() > end:
            return Weight(taken, whole=False)
        found, readable = _inside(folders.popleft(), left)
        left, whole = left - len(found), whole and readable
        for name, look in found:
            if look.st_dev != root.st_dev or look.st_ino in seen:
                continue
            taken += look.st_blocks * 512
            if stat.S_ISDIR(look.st_mode):
                folders.append(name)
            elif look.st_nlink > 1:
                seen.add(look.st_ino)
    return Weight(taken, whole)


def _inside(folder: str, most: int) -> tuple[list[tuple[str, os.stat_result]], bool]:
    """Return the first ``most`` entries of a folder, and whether these are all and could all be looked at."""
    found: list[tuple[str, os.stat_result]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(found) >= most:
                    return found, False
                found.append((entry.path, entry.stat(follow_symlinks=False)))
    except OSError:
        return found, False
    return found, True
