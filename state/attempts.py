"""Putting one attempt's files away and the next one's in their place, so that a kill at any point loses neither.

    next.<n>/      the files of attempt n, made ready before anybody decided that there is one
    attempts/<m>/  what attempt m left: output, events, exit record, prompt, plan of launch

1. ``next.<n>`` is filled. A kill leaves it: whoever decides anew discards it.
2. The journal commits the hop. From here on ``put_in_place`` finishes it, as often as it is asked to.
3. Everything of the attempt before goes to ``attempts/<m>``; ``next.<n>`` is renamed ``ready.<n>``, which says that
   all is put away; what is in it goes to its place. Only then a shim is asked for.

Claims, the record's copies and earlier attempts stay where they are.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from pathlib import Path

from .errors import from_os_error
from .job_folder import DRAFT, END, META, TREE, JobFolder

ATTEMPTS = "attempts"
_STAYS = re.compile(r"claim\.\d{1,9}|attempts|next\.\d{1,9}|ready\.\d{1,9}")
_STAY = frozenset({META, DRAFT, END, TREE})
_STAGES = re.compile(r"(?:next|ready)\.\d{1,9}")


def stage(folder: JobFolder, attempt: int) -> JobFolder:
    """Return an empty folder for what attempt ``attempt`` will need. Raises StateError."""
    discard_stage(folder)
    path = folder.path / f"next.{attempt}"
    try:
        path.mkdir(mode=0o700)
    except OSError as error:
        raise from_os_error(error, path, "create") from error
    return JobFolder(path, folder.files)


def discard_stage(folder: JobFolder) -> None:
    """Remove what was made ready and never decided; it may hold keys. That it can't be is no trouble of the job's."""
    for name in _names(folder.path):
        if _STAGES.fullmatch(name):
            shutil.rmtree(folder.path / name, ignore_errors=True)


def put_in_place(folder: JobFolder, attempt: int) -> bool:
    """Finish the hop to ``attempt``, wherever it was interrupted. Returns whether there was one. Raises StateError."""
    fresh, ready = folder.path / f"next.{attempt}", folder.path / f"ready.{attempt}"
    if not fresh.is_dir() and not ready.is_dir():
        return False
    try:
        if fresh.is_dir():
            _put_away(folder.path, folder.path / ATTEMPTS / str(attempt - 1))
            fresh.rename(ready)
        for name in _names(ready):
            os.replace(ready / name, folder.path / name)  # noqa: PTH105  beside its like
        ready.rmdir()
    except OSError as error:
        raise from_os_error(error, folder.path, "write") from error
    return True


def attempt_folder(folder: JobFolder, attempt: int, newest: int) -> JobFolder:
    """Return where the files of an attempt are: the job's own folder for its newest."""
    return folder if attempt == newest else JobFolder(folder.path / ATTEMPTS / str(attempt), folder.files)


def _put_away(root: Path, to: Path) -> None:
    to.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in _names(root):
        if name not in _STAY and not _STAYS.fullmatch(name):
            os.replace(root / name, to / name)  # noqa: PTH105  as above


def _names(path: Path) -> list[str]:
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        return sorted(entry.name for entry in entries)
    return []


__all__ = ["ATTEMPTS", "attempt_folder", "discard_stage", "put_in_place", "stage"]
