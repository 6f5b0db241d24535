"""The store: every fact in order, and every job as its facts make it, in one SQLite file.

    store = Store.open(home.database, now=now)
    entries = store.append([fact, ...], at=now)     # any number of times, then
    store.commit()                                  # one wait for the disk serves them all

One writer (the Journal). Write-ahead log, ``synchronous=FULL``: what ``commit`` returned for survives
the loss of power; what it did not is gone whole. Use ``Reader`` to look.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..messages.alarm import AlarmFact
from ..messages.facts import Entry, Fact, GaugesRead, JobAccepted, JobEnded, JobHopped, JobOutcome, JobRemoved
from ..messages.group import FanoutEnded, GroupFact
from ..messages.history import HistoryImported
from ..messages.job import JobRecord
from ..messages.loop import LoopAccepted, LoopEnded, LoopFact, LoopStepBegan, LoopStepEnded
from ..messages.session import (
    LimitsObserved,
    SessionEnded,
    SessionFact,
    SessionRecord,
    SessionRemoved,
    SessionSpent,
)
from . import alarms_store, groups_store, history_store, ledger_store, limits_store, loops_store, outcomes
from .errors import DamagedStore, from_os_error, printable
from .files import FILES, Files
from .reader import Reader, refuse_irregular
from .records import apply
from .schema import SCHEMA, newer
from .session_records import apply_session
from .sqlite_errors import TROUBLE, from_sqlite_error

__all__ = ["Reader", "Store", "public"]

BUSY_S = 5.0
"""How long to wait for another writer before giving up."""

KNOWN = 1000
"""So many records are kept at most, of jobs that live."""

_OWNERS = ("session_id", "group_id", "loop_id")
"""By which field a fact names what it is about, where that is no job."""
_INSERT_FACT = "INSERT INTO facts (at, job_id, kind, body) VALUES (?, ?, ?, ?)"
_SAVE_JOB = """
INSERT INTO jobs (job_id, label, group_id, state, accepted_at, ended, record) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (job_id) DO UPDATE SET
    label = excluded.label, group_id = excluded.group_id, state = excluded.state, ended = excluded.ended,
    record = excluded.record
"""
_SAVE_SESSION = """
INSERT INTO sessions (session_id, name, cwd, state, accepted_at, ended, record) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id) DO UPDATE SET state = excluded.state, ended = excluded.ended, record = excluded.record
"""


class Store:
    """The writer. May move between threads, but one at a time.

    Any method raises StateError when the disk is full or can't be written, DamagedStore when the
    file can't be believed. After either, nothing since the last ``commit`` is kept: append it again.
    """

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        """Use ``open`` instead."""
        self._db = db
        self._path = path
        self._file = _which(path)
        self._known: dict[str, JobRecord] = {}
        """Records as they are in the table, uncommitted changes included, while nobody else writes."""
        self._version: int | None = None
        """What SQLite called the file's state when they were: it changes with what others commit."""

    @classmethod
    def open(cls, path: Path, *, now: float, files: Files = FILES) -> Store:
        """Open or create the store and bring its schema up to date.

        Raises DamagedStore, or StateError with STATE_NEWER, STATE_FULL or STATE_UNWRITABLE. The
        file is checked whole (about 60 ms for 10,000 jobs), so that damage is met here, not later.
        """
        _make_private(path, files)
        store = cls(_connect(path), path)
        try:
            store._prepare(now)
        except BaseException:
            store.close()
            raise
        return store

    def append(self, facts: Sequence[Fact], at: float) -> list[Entry]:
        """Add facts that happened ``at`` epoch seconds, and update their jobs, in the open transaction.

        Returns them numbered, as the journal shows them (``public``), without what says again what is settled
        (``_is_settled``), nor the outcome that such a repeated end brings along. Nothing is kept, and nothing may be
        told to anyone, before ``commit``.
        """
        entries = []
        again = False
        try:
            if not self._db.in_transaction:
                self._begin()
            for fact in facts:
                if (again and isinstance(fact, JobOutcome)) or self._is_settled(fact, at):
                    again = again or isinstance(fact, JobEnded | LoopStepEnded)
                    continue
                shown = public(fact)
                job_id = getattr(fact, "job_id", None)
                cursor = self._db.execute(_INSERT_FACT, (at, _owner(fact), fact.kind, shown.model_dump_json()))
                entries.append(Entry.model_construct(seq=cursor.lastrowid or 0, at=at, fact=shown))
                self._count(fact, at)
                self._fold(fact, job_id, at)
        except TROUBLE as error:
            self.rollback()
            raise from_sqlite_error(error, self._path) from error
        return entries

    def _is_settled(self, fact: Fact, at: float) -> bool:
        """Whether a fact says again what has ended, or which loop there is.

        An actor that crashed after it had said so, while that waited to be written: its successor judged anew. Or a
        caller that was left without an answer asked again.
        """
        match fact:
            case JobEnded(revises=False):
                return self._has_ended(fact.job_id)
            case FanoutEnded():
                group = groups_store.load(self._db, fact.group_id)
                return group is not None and group.ended is not None
            case SessionEnded():
                session = self.session(fact.session_id)
                return session is not None and session.state.ended
            case LoopAccepted() | LoopStepBegan() | LoopStepEnded() | LoopEnded():
                return loops_store.is_settled(self._db, fact, at)
            case _:
                return False

    def _begin(self) -> None:
        """Begin a transaction: nobody else writes until its end. What somebody wrote before it makes us forget."""
        self._db.execute("BEGIN IMMEDIATE")
        version = int(self._db.execute("PRAGMA data_version").fetchone()[0])
        if version != self._version or len(self._known) > KNOWN:
            self._known.clear()
            self._version = version

    def _fold(self, fact: Fact, job_id: str | None, at: float) -> None:
        """Update the table of whatever a fact is about."""
        if isinstance(fact, SessionFact):
            self._update_session(fact, at)
        elif isinstance(fact, AlarmFact):
            alarms_store.keep(self._db, fact, at)
        elif isinstance(fact, GroupFact):
            groups_store.keep(self._db, fact, at)
        elif isinstance(fact, LoopFact):
            pass  # a loop is its facts (``loops_reader.py``)
        elif job_id is not None:
            self._update(job_id, fact, at)
        else:
            limits_store.keep(self._db, fact, at)

    def _count(self, fact: Fact, at: float) -> None:
        """Write what a fact tells the books."""
        if isinstance(fact, GaugesRead | LimitsObserved):
            ledger_store.keep_gauges(self._db, fact, at)
        elif isinstance(fact, HistoryImported):
            history_store.keep(self._db, fact)
        elif isinstance(fact, JobOutcome):
            outcomes.keep(self._db, fact, at)

    def commit(self) -> None:
        """Make everything appended since the last commit durable. Without any, nothing happens.

        Raises DamagedStore when the file is not in its place any more: nobody would find what is written.
        """
        if not self._db.in_transaction:
            return
        if _which(self._path) != self._file:
            self.rollback()
            raise DamagedStore(message=f"{printable(self._path)} was removed or replaced while it was in use")
        try:
            self._db.execute("COMMIT")
        except TROUBLE as error:
            self.rollback()
            raise from_sqlite_error(error, self._path) from error

    def restore(self, record: JobRecord) -> None:
        """Put a job into the table as it is, without a fact, in the open transaction (after a rebuild)."""
        try:
            if not self._db.in_transaction:
                self._begin()
            self._save(record)
            ledger_store.keep(self._db, None, record, record.ended or record.accepted_at)
        except TROUBLE as error:
            self.rollback()
            raise from_sqlite_error(error, self._path) from error

    def rollback(self) -> None:
        """Forget everything appended since the last commit. Never raises."""
        self._known.clear()
        with contextlib.suppress(*TROUBLE):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def close(self) -> None:
        """Forget what was not committed and let go of the file. Repeating it is harmless."""
        self.rollback()
        with contextlib.suppress(*TROUBLE):
            self._db.close()

    def record(self, job_id: str) -> JobRecord | None:
        """Return one job, uncommitted changes included; None when there is none or it can't be read."""
        return self._load(job_id)[1]

    def live(self) -> list[JobRecord]:
        """Return every job that has not ended, oldest first. Raises DamagedStore when one can't be read."""
        records = []
        for job_id, body in self._rows(
            "SELECT job_id, record FROM jobs WHERE ended IS NULL ORDER BY accepted_at, job_id"
        ):
            record = _parse(body)
            if record is None or record.job_id != job_id:
                raise DamagedStore(message=f"{printable(self._path)} is damaged: live job {job_id!r} can't be read")
            records.append(record)
        return records

    def job_ids(self) -> set[str]:
        """Return the id of every job there is."""
        return {str(row[0]) for row in self._rows("SELECT job_id FROM jobs")}

    def was_removed(self, job_id: str) -> bool:
        """Whether the journal says that this job, or this session, was cleaned up."""
        kinds = "('job.removed', 'session.removed')"
        return bool(self._rows(f"SELECT 1 FROM facts WHERE job_id = ? AND kind IN {kinds} LIMIT 1", job_id))  # noqa: S608  our own words

    def last_seq(self) -> int:
        """Return the number of the newest fact that was ever given, 0 at first."""
        rows = self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'facts'")
        return int(rows[0][0]) if rows else 0

    def skip_to(self, seq: int) -> None:
        """Number the next fact higher than ``seq``, in the open transaction (after a rebuild)."""
        try:
            if not self._db.in_transaction:
                self._begin()
            self._db.execute("DELETE FROM sqlite_sequence WHERE name = 'facts' AND seq < ?", (seq,))
            self._db.execute(
                "INSERT INTO sqlite_sequence (name, seq) SELECT 'facts', ?"
                " WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'facts')",
                (seq,),
            )
        except TROUBLE as error:
            self.rollback()
            raise from_sqlite_error(error, self._path) from error

    def _rows(self, statement: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(statement, values).fetchall()
        except TROUBLE as error:
            raise from_sqlite_error(error, self._path) from error

    def _has_ended(self, job_id: str) -> bool:
        record = self._load(job_id)[1]
        return record is not None and record.state.terminal

    def _update(self, job_id: str, fact: Fact, at: float) -> None:
        exists, record = self._load(job_id)
        if exists and record is None and not isinstance(fact, JobAccepted | JobRemoved):
            return  # unreadable: the fact is journalled, the damaged row stays for whoever looks
        changed = apply(record, fact, at)
        if changed is record:
            return
        if changed is None:
            self._known.pop(job_id, None)
            self._db.execute("DELETE FROM jobs WHERE job_id = ?", (job_id,))
            if record is not None and record.group_id is not None:
                groups_store.leave(self._db, record.group_id)
            return
        limits_store.count(self._db, record, changed, at)
        ledger_store.keep(self._db, record, changed, at)
        self._save(changed)
        if not changed.state.terminal:
            self._known[job_id] = changed

    def session(self, session_id: str) -> SessionRecord | None:
        """Return one session, uncommitted changes included; None when there is none or it can't be read."""
        rows = self._rows("SELECT record FROM sessions WHERE session_id = ?", session_id)
        try:
            return SessionRecord.model_validate_json(rows[0][0]) if rows else None
        except (ValidationError, TypeError):
            return None

    def restore_session(self, record: SessionRecord) -> None:
        """Put a session into the table as it is, without a fact, in the open transaction (after a rebuild)."""
        try:
            if not self._db.in_transaction:
                self._begin()
            self._save_session(record)
        except TROUBLE as error:
            self.rollback()
            raise from_sqlite_error(error, self._path) from error

    def _update_session(self, fact: SessionFact, at: float) -> None:
        record = self.session(fact.session_id)
        if isinstance(fact, SessionRemoved):
            if record is None or record.state.ended:
                self._db.execute("DELETE FROM sessions WHERE session_id = ?", (fact.session_id,))
            return
        if isinstance(fact, SessionSpent) and record is not None:
            ledger_store.keep_turn(self._db, record, fact, at)
        changed = apply_session(record, fact, at)
        if changed is not None and changed is not record:
            limits_store.count_send(self._db, fact, changed, at)
            self._save_session(changed)

    def _save_session(self, record: SessionRecord) -> None:
        row = (record.session_id, record.name, record.cwd, record.state.value, record.accepted_at, record.ended)
        self._db.execute(_SAVE_SESSION, (*row, record.model_dump_json()))

    def _save(self, record: JobRecord) -> None:
        row = (record.job_id, record.label, record.group_id, record.state.value, record.accepted_at, record.ended)
        self._known.pop(record.job_id, None)
        self._db.execute(_SAVE_JOB, (*row, record.model_dump_json()))

    def _load(self, job_id: str) -> tuple[bool, JobRecord | None]:
        """Return whether there is a row, and its record if that can be read."""
        if self._db.in_transaction and (known := self._known.get(job_id)) is not None:
            return True, known
        row = self._db.execute("SELECT record FROM jobs WHERE job_id = ?", (job_id,)).fetchone()
        return (False, None) if row is None else (True, _parse(row[0]))

    def _prepare(self, now: float) -> None:
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
            if version > SCHEMA:
                raise newer(os.fspath(self._path), version)
            if version:
                self._demand_whole()
            elif self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise DamagedStore(message=f"{printable(self._path)} is another program's database")
            for number, name, script in migrations():
                if number > version:
                    self._migrate(number, name, script, now)
        except TROUBLE as error:
            self.rollback()
            raise from_sqlite_error(error, self._path) from error
        self.live()

    def _demand_whole(self) -> None:
        """Raise DamagedStore for a file that contradicts itself. Indexes alone are made anew from what they index."""
        found = self._db.execute("PRAGMA integrity_check(1)").fetchone()
        if found is not None and found[0] != "ok" and "index" in found[0]:
            self._db.execute("REINDEX")
            found = self._db.execute("PRAGMA integrity_check(1)").fetchone()
        if found is None or found[0] != "ok":
            raise DamagedStore(message=f"{printable(self._path)} is damaged: {found and found[0]}")

    def _migrate(self, number: int, name: str, script: str, now: float) -> None:
        """Apply one file whole: a kill in the middle leaves the schema before it."""
        self._db.executescript(f"BEGIN IMMEDIATE;\n{script}\n")
        if name.endswith(ledger_store.MIGRATION):
            ledger_store.fill(self._db)
        self._db.execute("INSERT INTO migrations (number, name, at) VALUES (?, ?, ?)", (number, name, now))
        self._db.execute(f"PRAGMA user_version = {number}")
        self._db.execute("COMMIT")


def _owner(fact: Fact) -> str | None:
    """Return the job, session, group or loop that a fact is listed with."""
    if isinstance(fact, AlarmFact):
        return alarms_store.owner(fact)
    return next((one for name in ("job_id", *_OWNERS) if (one := getattr(fact, name, None))), None)


def public(fact: Fact) -> Fact:
    """Return the fact as the journal may show it: without the id that signs an attempt's markers."""
    if isinstance(fact, JobAccepted | JobHopped) and fact.record.marker_id is not None:
        return fact.model_copy(update={"record": fact.record.model_copy(update={"marker_id": None})})
    return fact


def migrations() -> list[tuple[int, str, str]]:
    """Return every migration in order: (number, file name without ending, SQL)."""
    found = []
    for entry in resources.files(f"{__package__}.migrations").iterdir():
        stem, dot, ending = entry.name.rpartition(".")
        if dot and ending == "sql":
            found.append((int(stem.partition("_")[0]), stem, entry.read_text(encoding="utf-8")))
    return sorted(found)


def _parse(body: str | bytes) -> JobRecord | None:
    try:
        return JobRecord.model_validate_json(body)
    except (ValidationError, TypeError):
        return None


def _make_private(path: Path, files: Files) -> None:
    """Create the file 0600 before SQLite can with the umask's mode; ``-wal`` and ``-shm`` inherit it."""
    try:
        refuse_irregular(os.fspath(path))
        files.close(files.open(path, os.O_RDWR | os.O_CREAT))
    except IsADirectoryError as error:
        raise DamagedStore(message=f"{printable(path)} is a folder, not a database") from error
    except OSError as error:
        raise from_os_error(error, path, "open") from error


def _which(path: Path) -> tuple[int, int] | None:
    """Return what tells one file from another; None when there is none."""
    try:
        seen = os.stat(path)  # noqa: PTH116 - before every commit
    except OSError:
        return None
    return seen.st_dev, seen.st_ino


def _connect(path: Path) -> sqlite3.Connection:
    try:
        db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        db.text_factory = lambda data: data.decode("utf-8", "replace")
    except TROUBLE as error:
        raise from_sqlite_error(error, path) from error
    return db
