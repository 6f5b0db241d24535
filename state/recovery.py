"""Opening the store whatever happened to it: as it is, or set aside and rebuilt from the job folders.

Nothing is deleted: a damaged file stays beside the new one, a folder that can't be read stays where it is.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path

from ..messages.facts import StoreRebuilt
from ..messages.job import JobRecord
from ..messages.vocabulary import JobState
from .errors import DamagedStore, StateError, from_os_error, printable
from .files import FILES, Files, set_aside, sync_folder
from .home import Home
from .ids import is_job_id
from .job_folder import META, JobFolder
from .reader import SMALLEST, refuse_irregular
from .session_recovery import restore_sessions
from .store import Store

BUILDING = ".rebuilding"
"""Suffix of the new file while it is filled. A left one is worthless: it is removed."""

ATTEMPTS = 100
"""Most attempts whose records are read for one job: a number in a file's name may be any."""

REBUILT = ".rebuilt"
"""Suffix of the new file once it is whole. A left one is put in place at the next start."""


def open_or_rebuild(home: Home, now: float, *, files: Files = FILES) -> tuple[Store, list[str]]:
    """Return the store and what a person should know. ``now`` is epoch seconds.

    A damaged database is renamed ``state.db.damaged-<stamp>`` (its log beside it or in it) and every
    job whose folder has a readable ``meta.json`` is put into a new one, with one ``store.rebuilt``
    fact; so it goes with a missing or empty one where there are job folders. A kill at any instant of
    this leaves the old file, or the new one whole. Raises StateError for what a rebuild can't help: a
    newer schema, a full disk, a place that can't be written.
    """
    database, stamp = home.database, time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    _put_in_place(database, stamp)
    if not _is_blank(database) or not _folders(home):
        try:
            return _reconciled(Store.open(database, now=now, files=files), home, now, files)
        except DamagedStore as damage:
            warnings = [damage.message]
    else:
        warnings = [f"{printable(database)} is missing or empty, though there are jobs"]
    jobs, unread = _build(home, now, warnings[0], files)
    kept = _put_in_place(database, stamp)
    if kept is not None:
        warnings.append(f"the damaged database was kept as {printable(kept)}")
    warnings.append(f"{jobs} jobs were restored from their folders")
    warnings.extend(f"{printable(path)} was kept, but its {META} is missing or can't be read" for path in unread)
    return Store.open(database, now=now, files=files), warnings


def _build(home: Home, now: float, cause: str, files: Files) -> tuple[int, list[Path]]:
    """Fill a new file beside the damaged one, and name it ``REBUILT`` once it is whole and on the disk."""
    building = _beside(home.database, BUILDING)
    _discard(building)
    try:
        with contextlib.closing(Store.open(building, now=now, files=files)) as store:
            # A follower resumes "after N": numbers must go on rising, even when the old ones can't be read.
            known = _salvaged_seq(home.database)
            store.skip_to(known if known is not None else int(now * 1000))
            records, unread = _readable(home, files)
            _restore(store, records, cause, now)
            restore_sessions(store, home)
            store.commit()
        try:
            files.replace(building, _beside(home.database, REBUILT))
        except OSError as error:
            raise from_os_error(error, building, "rename") from error
    except BaseException:
        _discard(building)
        raise
    return len(records), unread


def _put_in_place(database: Path, stamp: str) -> Path | None:
    """Make a finished rebuild the database; return where the old one is kept. Without a rebuild nothing is done."""
    rebuilt = _beside(database, REBUILT)
    if not rebuilt.exists():
        return None
    # The log first: left beside the new file, SQLite would play it into that.
    for suffix in ("-wal", "-shm"):
        set_aside(_beside(database, suffix), f".damaged-{stamp}", suffix)
    kept = set_aside(database, f".damaged-{stamp}")
    try:
        rebuilt.rename(database)
        sync_folder(database.parent)
    except OSError as error:
        raise from_os_error(error, database, "replace") from error
    return kept


def _reconciled(store: Store, home: Home, now: float, files: Files) -> tuple[Store, list[str]]:
    """Take in what only the folders know: a log that lost its end (a disk cache, a copy) forgets decisions.

    ``meta.json`` is written after the commit, so that it never knows of a decision that was not made.
    """
    try:
        live = {record.job_id for record in store.live()}
        found = _forgotten(store, home, files, store.job_ids(), live)
        if restore_sessions(store, home):
            store.commit()
        if not found:
            return store, []
        cause = f"{printable(home.database)} had lost the end of its log"
        # How many numbers were given after what is left is not known, and none may be given twice.
        store.skip_to(max(store.last_seq(), int(now * 1000)))
        _restore(store, found, cause, now)
    except BaseException:
        store.close()
        raise
    return store, [f"{cause}: {len(found)} jobs were restored from their folders"]


def _forgotten(store: Store, home: Home, files: Files, known: set[str], live: set[str]) -> list[JobRecord]:
    """Return the records of folders whose job the store lacks, or takes for live though it has ended."""
    found = []
    for path in _folders(home):
        if path.name in known and path.name not in live:
            continue
        record = JobFolder(path, files).read_meta()
        if record is None or (path.name in live and not record.state.terminal):
            continue
        if path.name in live or not store.was_removed(path.name):
            found.append(_as_launched(record, JobFolder(path, files)))
    return found


def _is_blank(database: Path) -> bool:
    try:
        return database.lstat().st_size < SMALLEST
    except OSError:
        return True  # missing; what can't be seen for another reason is met when it is opened


def _beside(database: Path, suffix: str) -> Path:
    return database.with_name(database.name + suffix)


def _readable(home: Home, files: Files) -> tuple[list[JobRecord], list[Path]]:
    """Return every job as its folder knows it, and the folders that could not be read."""
    unread = []
    found = []
    for path in _folders(home):
        record = JobFolder(path, files).read_meta()
        if record is None:
            unread.append(path)
            with contextlib.suppress(StateError):
                set_aside(path / META, ".bad")
            continue
        found.append(_as_launched(record, JobFolder(path, files)))
    return found, unread


def _restore(store: Store, records: list[JobRecord], cause: str, now: float) -> None:
    """Put the jobs into the table, and one fact for all of them: whoever follows has seen their own before."""
    for record in records:
        if record.state.terminal:
            store.restore(record if record.ended is not None else record.model_copy(update={"ended": now}))
        else:
            store.restore(record.model_copy(update={"ended": None}))
    store.append([StoreRebuilt(jobs=len(records), cause=cause)], now)
    store.commit()


def _folders(home: Home) -> list[Path]:
    try:
        names = sorted(entry.name for entry in os.scandir(home.jobs_dir) if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise from_os_error(error, home.jobs_dir, "read") from error
    return [home.jobs_dir / name for name in names if is_job_id(name)]


def _as_launched(record: JobRecord, folder: JobFolder) -> JobRecord:
    """Return a record brought up to what the folder proves: ``meta.json`` may be older than its claims."""
    attempt = max(record.attempt, folder.last_attempt())
    if attempt == 0:
        return record
    spawned = folder.read_spawn(attempt)
    changes: dict[str, object] = {}
    if record.started is None:
        changes["started"] = _first_start(folder, attempt)
    if record.state.terminal:
        return record.model_copy(update=changes)
    changes["attempt"] = attempt
    if spawned is not None:
        changes.update(shim=spawned.shim, delegate=spawned.delegate)
    elif attempt > record.attempt:
        changes.update(shim=None, delegate=None)
    if record.state in (JobState.QUEUED, JobState.LAUNCHING):
        changes["state"] = JobState.RUNNING if spawned is not None else JobState.LAUNCHING
    return record.model_copy(update=changes)


def _first_start(folder: JobFolder, attempts: int) -> float | None:
    """Return when a delegate's process was first seen; None when no attempt says so."""
    seen = (folder.read_spawn(attempt) for attempt in range(1, min(attempts, ATTEMPTS) + 1))
    return next((spawned.at for spawned in seen if spawned is not None and spawned.at is not None), None)


def _salvaged_seq(database: Path) -> int | None:
    """Return the newest number that the damaged file still admits to have given, None when it says nothing."""
    db = None
    try:
        refuse_irregular(os.fspath(database))
        db = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0)
        found = [
            db.execute("SELECT max(seq) FROM facts").fetchone(),
            db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'facts'").fetchone(),
        ]
        return max(int(row[0]) for row in found if row and row[0] is not None)
    except (DamagedStore, sqlite3.Error, ValueError, TypeError):  # ValueError: undecodable bytes, or no number at all
        return None
    finally:
        if db is not None:
            db.close()


def _discard(database: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            _beside(database, suffix).unlink()
