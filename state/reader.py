"""Looking at the store without a supervisor, and without ever writing to it.

Plain dicts come back, so that a looking command loads nothing but sqlite3 and json. One ``Reader``
belongs to one thread. It works while a supervisor writes, when none runs, and after one was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

from .chains import heads
from .errors import DamagedStore, from_os_error, printable
from .ids import is_job_id
from .schema import SCHEMA, newer
from .sqlite_errors import TROUBLE, from_sqlite_error

Record = dict[str, Any]
"""A ``messages.job.JobRecord`` as its JSON object."""

CANDIDATES = 50
"""Most records that ``resolve`` returns for an ambiguous word."""

SMALLEST = 512
"""Bytes of the smallest page SQLite knows: a shorter file would be opened as an empty store."""

_LARGEST = 2**63 - 1
"""The largest number SQLite takes."""

_ID_CHARACTERS = frozenset("0123456789abcdef-")
_NEWEST = "ORDER BY accepted_at DESC, job_id DESC"


class Reader:
    """Read-only view of one database file. A file that does not exist yet reads as empty.

    Raises StateError: STATE_DAMAGED (DamagedStore; also for a file that is missing or empty though
    there are job folders beside it), STATE_NEWER, or what keeps the file from being looked at.
    ``notes`` holds sentences about anything that makes the view less than whole.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open ``path``; nothing is created."""
        self._path = os.fspath(path)
        self.notes: list[str] = []
        self.schema = 0
        """The schema that the file has; 0: there is none yet."""
        self._db: sqlite3.Connection | None = None
        with self._errors():
            self._db = self._open()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Let go of the file. Repeating it is harmless."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def resolve(self, token: str) -> list[Record]:
        """Return the jobs a person may mean: the full id; else that label, newest first; else that id prefix.

        Of jobs with that label of which one does another anew, or goes on with it, the newest is meant.
        At most ``CANDIDATES``; empty when there is none.
        """
        if not token or not token.isprintable():
            return []
        exact = self.record(token)
        if exact is not None:
            return [exact]
        labelled = heads(self._records(f"label = ? {_NEWEST} LIMIT ?", (token, CANDIDATES)))
        if labelled or not _ID_CHARACTERS.issuperset(token):
            return labelled
        beyond = token[:-1] + chr(ord(token[-1]) + 1)
        # Ids begin with their time, so that their own order is the newest first: no sort of a long list.
        return self._records("job_id >= ? AND job_id < ? ORDER BY job_id DESC LIMIT ?", (token, beyond, CANDIDATES))

    def record(self, job_id: str) -> Record | None:
        """Return one job by its full id, or None."""
        found = self._records("job_id = ?", (job_id,))
        return found[0] if found else None

    def jobs(self, state: str | None = None, limit: int = 40) -> tuple[list[Record], int]:
        """Return the newest ``limit`` jobs (0: all), optionally of one state, and how many were left out."""
        most = min(limit, _LARGEST) if limit > 0 else -1
        if state is None:
            found = self._records(f"1 {_NEWEST} LIMIT ?", (most,))
            total = self._number("SELECT coalesce(sum(jobs), 0) FROM job_counts")
        else:
            found = self._records(f"state = ? {_NEWEST} LIMIT ?", (state, most))
            total = self._number("SELECT coalesce(sum(jobs), 0) FROM job_counts WHERE state = ?", (state,))
        return found, max(0, total - len(found))

    def accepted_since(self, at: float) -> list[float]:
        """Return when each job since then was accepted (epoch seconds), oldest first."""
        rows = self._rows("SELECT accepted_at FROM jobs WHERE accepted_at > ? ORDER BY accepted_at", (at,))
        return [float(row[0]) for row in rows]

    def accepted_after(self, seq: int) -> tuple[int, list[tuple[float, int | None]]]:
        """Return the newest acceptance's number, and of each after ``seq`` when it was and whose command's (pid)."""
        rows = self._rows(
            "SELECT seq, at, json_extract(body, '$.record.owner.pid') FROM facts "
            "WHERE kind = 'job.accepted' AND seq > ? ORDER BY seq",
            (seq,),
        )
        found = [(float(at), None if pid is None else int(pid)) for _, at, pid in rows]
        return (int(rows[-1][0]) if rows else seq), found

    def last_acceptance(self) -> int:
        """Return the number of the newest acceptance; 0 where there is none."""
        return self._number("SELECT coalesce(max(seq), 0) FROM facts WHERE kind = 'job.accepted'")

    def live(self) -> list[Record]:
        """Return every job that has not ended, oldest first."""
        return self._records("ended IS NULL ORDER BY accepted_at, job_id", ())

    def live_states(self) -> list[str]:
        """Return the state of every job that has not ended, and nothing else of it."""
        return [str(state) for (state,) in self._rows("SELECT state FROM jobs WHERE ended IS NULL", ())]

    def sessions(self, limit: int = 40) -> tuple[list[Record], int]:
        """Return the newest ``limit`` sessions (0: all), and how many were left out."""
        if not self._has_sessions():
            return [], 0
        most = min(limit, _LARGEST) if limit > 0 else -1
        found = self._session_records("1 ORDER BY accepted_at DESC, session_id DESC LIMIT ?", (most,))
        return found, max(0, self._number("SELECT count(*) FROM sessions") - len(found))

    def live_sessions(self) -> list[Record]:
        """Return every session that has not ended, oldest first."""
        if not self._has_sessions():
            return []
        return self._session_records("ended IS NULL ORDER BY accepted_at, session_id", ())

    def session(self, session_id: str) -> Record | None:
        """Return one session by its full id, or None."""
        found = self._session_records("session_id = ?", (session_id,)) if self._has_sessions() else []
        return found[0] if found else None

    def resolve_session(self, token: str) -> list[Record]:
        """Return the sessions a person may mean: the one of that whole id; else the live one of that name.

        Else those whose ids begin so; else the newest ended one of that name. At most ``CANDIDATES``; empty when there
        is none.
        """
        if not token or not token.isprintable() or not self._has_sessions():
            return []
        found = self._session_records("session_id = ?", (token,))
        found = found or self._session_records("name = ? AND ended IS NULL", (token,))
        if found:
            return found
        if _ID_CHARACTERS.issuperset(token):
            beyond = token[:-1] + chr(ord(token[-1]) + 1)
            most = (token, beyond, CANDIDATES)
            found = self._session_records("session_id >= ? AND session_id < ? ORDER BY session_id DESC LIMIT ?", most)
            if found:
                return found
        return self._session_records("name = ? ORDER BY accepted_at DESC LIMIT 1", (token,))

    def _has_sessions(self) -> bool:
        """Whether this store is of a schema that knows sessions: an older one is only brought up by its writer."""
        return bool(self._number("SELECT count(*) FROM sqlite_master WHERE name = 'sessions'"))

    def _session_records(self, condition: str, values: tuple[Any, ...]) -> list[Record]:
        # ``condition`` is one of this file's own; every value is bound.
        rows = self._rows(f"SELECT record FROM sessions WHERE {condition}", values)  # noqa: S608 - see above
        found = []
        for (body,) in rows:
            with contextlib.suppress(ValueError, TypeError, RecursionError):
                record = json.loads(body)
                if isinstance(record, dict):
                    found.append(record)
        return found

    def entries(
        self,
        since: int,
        limit: int,
        job: str | None = None,
        type: str | None = None,  # noqa: A002 - the option's name
    ) -> list[tuple[int, float, str, str]]:
        """Return up to ``limit`` facts after ``since``, in order: (seq, at, kind, body as JSON text).

        ``job`` is a full id; ``type`` a fact's kind. Numbers beyond what SQLite knows mean the largest.
        """
        where = ["seq > ?"]
        given: list[Any] = [_bounded(since)]
        if job is not None:
            where.append("job_id = ?")
            given.append(job)
        if type is not None:
            where.append("kind = ?")
            given.append(type)
        condition = " AND ".join(where)  # our own words; every value is bound
        statement = f"SELECT seq, at, kind, body FROM facts WHERE {condition} ORDER BY seq LIMIT ?"  # noqa: S608 - see above
        rows = self._rows(statement, (*given, _bounded(limit)))
        try:
            return [(int(seq), float(at), str(kind), str(body)) for seq, at, kind, body in rows]
        except (TypeError, ValueError):
            raise DamagedStore(message=f"{printable(self._path)} is damaged: a fact has no number or no time") from None

    def group(self, group_id: str) -> list[Record]:
        """Return the jobs of a group, oldest first."""
        return self._records("group_id = ? ORDER BY accepted_at, job_id", (group_id,))

    def ended_before(self, instant: float) -> list[Record]:
        """Return the jobs that ended before an instant (epoch seconds), the one that ended first, first."""
        return self._records("ended < ? ORDER BY ended, job_id", (instant,))

    def last_seq(self) -> int:
        """Return the number of the newest fact, 0 when there is none."""
        return self._number("SELECT coalesce(max(seq), 0) FROM facts")

    def select(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement of this layer's own; every value is bound."""
        return self._rows(statement, values)

    def _records(self, condition: str, values: tuple[Any, ...]) -> list[Record]:
        # ``condition`` is one of this file's own; every value is bound.
        statement = f"SELECT job_id, state, accepted_at, ended, record FROM jobs WHERE {condition}"  # noqa: S608 - see above
        rows = self._rows(statement, values)
        return [_record(*row) for row in rows]

    def _number(self, statement: str, values: tuple[Any, ...] = ()) -> int:
        rows = self._rows(statement, values)
        return int(rows[0][0]) if rows else 0

    def _rows(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if self._db is None:
            return []
        with self._errors():
            return self._db.execute(statement, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except TROUBLE as error:
            raise from_sqlite_error(error, self._path) from error

    def _open(self) -> sqlite3.Connection | None:
        try:
            size = os.lstat(self._path).st_size
        except (FileNotFoundError, NotADirectoryError):
            self._check_nothing_is_lost("missing")
            return None
        except OSError as error:  # a folder that may not be searched is not an empty one
            raise from_os_error(error, self._path, "look at") from error
        refuse_irregular(self._path)
        if size < SMALLEST:
            self._check_nothing_is_lost("empty")
        try:
            db, version = self._connect("mode=ro")
        except sqlite3.OperationalError as error:
            # A folder that can't be written, or no index of the log in it: read the main file alone. Not where the
            # log is there and only can't be opened now (no descriptors are left): what is newest would be gone.
            if not _cannot_open(error) or _log_is_there(self._path):
                raise
            db, version = self._connect("mode=ro&immutable=1")
            if _size(self._path + "-wal"):
                self.notes.append(
                    f"{printable(self._path)} is read-only and its log can't be read: the newest changes are missing"
                )
        if version > SCHEMA:
            db.close()
            raise newer(self._path, version)
        if version == 0:  # made, and killed before the first schema was in it
            db.close()
            self._check_nothing_is_lost("empty")
            return None
        self.schema = version
        return db

    def _check_nothing_is_lost(self, what: str) -> None:
        """Refuse to call a home empty that holds jobs."""
        if jobs_beside(self._path):
            raise DamagedStore(message=f"{printable(self._path)} is {what}, though there are jobs")

    def _connect(self, query: str) -> tuple[sqlite3.Connection, int]:
        place = _quoted(os.path.abspath(self._path))  # noqa: PTH100 - a plain string is at hand
        db = sqlite3.connect(f"file:{place}?{query}", uri=True, timeout=5.0, isolation_level=None)
        try:
            db.text_factory = _decode
            return db, int(db.execute("PRAGMA user_version").fetchone()[0])
        except BaseException:
            db.close()
            raise


def jobs_beside(database: str) -> bool:
    """Whether the state home of this database holds the folder of any job."""
    try:
        with os.scandir(os.path.join(os.path.dirname(database), "jobs")) as entries:  # noqa: PTH118, PTH120 - a string
            return any(is_job_id(entry.name) and entry.is_dir(follow_symlinks=False) for entry in entries)
    except OSError:
        return False


def refuse_irregular(database: str) -> None:
    """Raise DamagedStore when a folder, a FIFO or the like stands for a database or its log: SQLite would wait."""
    for path in (database, f"{database}-wal", f"{database}-shm"):
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116 - a plain string is at hand
        except OSError:
            continue  # missing, or met when it is opened
        if not stat.S_ISREG(mode):
            raise DamagedStore(message=f"{printable(path)} is not a regular file")


def _bounded(number: int) -> int:
    return max(-_LARGEST, min(number, _LARGEST))


def _decode(data: bytes) -> str:
    # Text that is not UTF-8 can only come from damage; what can be read of it still is.
    return data.decode("utf-8", "replace")


def _record(job_id: str, state: str, accepted_at: float, ended: float | None, body: str) -> Record:
    """Return the record's object; what the columns say where the record itself can't be read."""
    try:
        record = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        record = None
    if isinstance(record, dict) and record.get("job_id") == job_id:
        return record
    note = "this job's record is damaged; its folder still holds what it wrote"
    return {"job_id": job_id, "state": state, "accepted_at": accepted_at, "ended": ended, "note": note}


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - a plain string is at hand
    except OSError:
        return 0


def _log_is_there(path: str) -> bool:
    """Whether somebody writes, or wrote, this store with its log beside it, in a folder that can be written."""
    return os.path.exists(f"{path}-shm") and os.access(os.path.dirname(path), os.W_OK)  # noqa: PTH110, PTH120 - as above


def _cannot_open(error: sqlite3.OperationalError) -> bool:
    primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return primary in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR)


@lru_cache(maxsize=8)
def _quoted(path: str) -> str:
    """Return a path as the path part of a ``file:`` URI (``urllib`` would cost more than the query)."""
    data = os.fsencode(path)
    safe = b"/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
    return "".join(chr(byte) if byte in safe else f"%{byte:02X}" for byte in data)
