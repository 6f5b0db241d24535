"""A job's read-only promise, where it is ours to keep: the tree noted before the launch, compared after the end.

Both are files in the job's folder, so that a supervisor that is killed in between loses nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from ..messages.internal import TreeCompared, TreeNoted
from ..messages.job import JobRecord
from ..state.errors import StateError
from ..state.files import read_private
from ..state.job_folder import JobFolder
from .base import Handle, log
from .job_check import note_check
from .tree import in_background
from .tree_snapshot import SAVED_LIMIT, Snapshot, changes, dump, load, take
from .work_tree import GUARD, Guard

TREE = "tree.before"
"""In the job's folder: the work tree as it was before the delegate."""
CHANGES = "changes.txt"
"""In the job's folder: every change that a read-only job made, one a line."""
MOST_NAMED = 40
"""Changes that the job's note names; the file names all."""


def note_tree(folder: JobFolder, record: JobRecord, to: Handle) -> None:
    """Look at the tree, and at what the job's check consists of, in the background; tells ``TreeNoted``."""
    noted = TreeNoted(attempt=record.attempt)
    in_background(f"note:{folder.job_id}", to, lambda: _noted(folder, record), otherwise=noted)


def compare_tree(folder: JobFolder, to: Handle) -> None:
    """Look at the tree again in the background; tells ``TreeCompared``."""
    in_background(
        f"compare:{folder.job_id}", to, lambda: _compared(folder), otherwise=TreeCompared(why="the comparison failed")
    )


def sentences(seen: TreeCompared) -> list[str]:
    """Return what the job's note says of a comparison: nothing when nothing was changed."""
    if seen.why is not None:
        return [f"the work tree was not compared: {seen.why}"]
    if not seen.changes:
        return []
    more = f" and {seen.omitted} more ({CHANGES} in its folder names all)" if seen.omitted else ""
    return [f"changed although READ-ONLY: {', '.join(seen.changes)}{more}"]


def breach(seen: TreeCompared) -> Sequence[str]:
    """Return the changes that break the promise."""
    return (*seen.changes, *(["…"] * (seen.omitted > 0)))


def _noted(folder: JobFolder, record: JobRecord) -> TreeNoted:
    try:
        note_check(folder, record)
        guard = Guard.from_json(folder.read_json(GUARD))
        if guard is not None:
            folder.write(TREE, dump(take(guard)))
    except Exception as error:  # noqa: BLE001  the launch must go on: without a record the comparison says so
        log.warning("%s: the work tree could not be noted: %r", folder.job_id, error)
    return TreeNoted(attempt=record.attempt)


def _compared(folder: JobFolder) -> TreeCompared:
    try:
        return _compare(folder)
    except Exception as error:  # noqa: BLE001  the verdict must come; this says what it lacks
        log.exception("%s: the work tree could not be compared", folder.job_id)
        return TreeCompared(why=f"{type(error).__name__}: {error}"[:200])


def _compare(folder: JobFolder) -> TreeCompared:
    guard = Guard.from_json(folder.read_json(GUARD))
    before = _kept(folder)
    if guard is None or before is None:
        return TreeCompared(why="there is no record of it from before")
    if before.why is not None:
        return TreeCompared(why=before.why)
    after = take(guard, before)
    if after.why is not None:
        return TreeCompared(why=after.why)
    found = changes(before, after)
    if len(found) > MOST_NAMED:
        with contextlib.suppress(StateError):
            folder.write(CHANGES, "".join(f"{line}\n" for line in found).encode())
    return TreeCompared(changes=tuple(found[:MOST_NAMED]), omitted=max(0, len(found) - MOST_NAMED))


def _kept(folder: JobFolder) -> Snapshot | None:
    try:
        data = read_private(folder.file(TREE), SAVED_LIMIT)
    except StateError:
        return None
    return load(data) if data is not None else None
