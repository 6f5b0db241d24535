"""Crews and tries whose command was killed before their jobs were taken: what it left is ended and taken away. Blocks.

Such a command makes a folder, a work tree and a check under a keeper, before any job has an id. Its own record says
who it is; nobody could go on with it, because nobody was told its name.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..messages.entity_ids import GROUP
from ..messages.job import Identity
from ..state.errors import StateError
from ..state.files import read_private
from ..state.groups_reader import group
from ..state.home import Home
from ..state.identity import look
from ..state.reader import Reader
from .base import log
from .best_of import RECORD as TRIES
from .best_of import end_check
from .crew_run import RECORD as CREW
from .crew_run import Crew
from .group_names import SETTLED_S
from .worktree_removal import remove_worktree
from .worktrees import Worktree

LIMIT = 1 << 20
ENOUGH = 20
"""So many are taken away at one look."""


def is_beginning(folder: Path) -> bool:
    """Whether its command was in its first check when it wrote the record: ended, what it left is taken away here."""
    record = _record(folder)
    return record is not None and record.get("owner") is not None and record.get("baseline") is None


def forget_abandoned(home: Home, *, settled_s: float = SETTLED_S) -> list[str]:
    """Take away what such commands left; return whose it was. What was written just now may be taken yet."""
    try:
        places = [place for place in (home.root / "fanout").iterdir() if place.name.startswith(GROUP)]
    except OSError:
        return []
    with Reader(home.database) as reader:
        unknown = [place for place in places if group(reader, place.name) is None]
    gone: list[str] = []
    for place in unknown:
        record = _record(place)
        if len(gone) < ENOUGH and record is not None and _is_gone(record) and _is_settled(place, settled_s):
            log.warning("%s: its command was killed before it began: what it left is taken away", place.name)
            _forget(place, record)
            gone.append(place.name)
    return gone


def _forget(place: Path, record: Mapping[str, Any]) -> None:
    try:
        if (found := Crew.load(str(place))) is not None:
            found.stop_baseline()
            found.close()
        elif isinstance(tree := record.get("tree"), dict):
            stop = threading.Event()
            stop.set()
            end_check(place, record, stop)
            remove_worktree(Worktree(path=str(tree["path"]), branch=str(tree["branch"]), base=str(record["base"])))
    except Exception as error:  # noqa: BLE001  a record that makes no sense keeps nobody from the others
        log.warning("%s: %s", place.name, error)
    shutil.rmtree(place, ignore_errors=True)


def _record(folder: Path) -> dict[str, Any] | None:
    for name in (CREW, TRIES):
        with contextlib.suppress(StateError, ValueError, RecursionError):
            found = json.loads(read_private(folder / name, LIMIT) or b"")
            if isinstance(found, dict) and found.get("group_id") == folder.name:
                return found
    return None


def _is_gone(record: Mapping[str, Any]) -> bool:
    """Whether the command that wrote it has ended; one that does not say who it was is left alone."""
    try:
        owner = Identity.model_validate(record.get("owner"))
    except ValueError:
        return False
    return look(owner.pid, owner.started, owner.boot_id) == "gone"


def _is_settled(folder: Path, settled_s: float) -> bool:
    try:
        newest = max(entry.stat(follow_symlinks=False).st_mtime for entry in folder.iterdir() if entry.is_file())
    except (OSError, ValueError):
        return False
    return time.time() - newest >= settled_s
