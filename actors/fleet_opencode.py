"""opencode's sessions: a few rows of its database, read only, and only when it has changed."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Mapping
from typing import Any

from ..lanes.transcripts import opencode
from ..lanes.transcripts.tail import Tail

MOST_SESSIONS, MOST_MESSAGES, MOST_PARTS = 100, 4, 40
MOST_BYTES = 64 * 1024
"""Characters of one row that are read: a tool's output may be megabytes."""
_WAIT_S = 0.2


class Database:
    """One database, followed by what its files look like."""

    def __init__(self, path: str) -> None:
        """Nothing is read yet."""
        self.path = path
        self._mark: tuple[object, ...] = ()
        self._known: dict[str, tuple[float, Tail]] = {}
        self.problem: str | None = None

    def sessions(self, since: float) -> dict[str, tuple[float, Tail]]:
        """Return the sessions that changed since then: id → when (epoch seconds), and the facts."""
        mark = (_stamp(self.path), _stamp(f"{self.path}-wal"))
        if mark[0] is None:
            self._known, self._mark = {}, ()
        elif mark != self._mark:
            try:
                self._known = self._read(since)
                self._mark, self.problem = mark, None
            except (sqlite3.Error, ValueError, TypeError) as error:
                self.problem = f"opencode's database can't be read: {error}"
        return self._known

    def _read(self, since: float) -> dict[str, tuple[float, Tail]]:
        # Without a write-ahead log nobody writes, and a plain read-only look would have to make files beside it.
        quiet = "" if os.path.lexists(f"{self.path}-wal") else "&immutable=1"
        with contextlib.closing(sqlite3.connect(f"file:{_quoted(self.path)}?mode=ro{quiet}", uri=True)) as database:
            database.execute(f"PRAGMA busy_timeout = {int(_WAIT_S * 1000)}")
            database.row_factory = sqlite3.Row
            rows = database.execute(
                "SELECT id, directory, title, time_updated FROM session"
                " WHERE parent_id IS NULL AND time_updated >= ? ORDER BY time_updated DESC LIMIT ?",
                (int(since * 1000), MOST_SESSIONS),
            ).fetchall()
            return {str(row["id"]): self._tail(database, dict(row)) for row in rows}

    def _tail(self, database: sqlite3.Connection, row: Mapping[str, Any]) -> tuple[float, Tail]:
        messages = database.execute(
            "SELECT id, substr(data, 1, ?), time_updated FROM message WHERE session_id = ?"
            " ORDER BY time_created DESC, id DESC LIMIT ?",
            (MOST_BYTES, row["id"], MOST_MESSAGES),
        ).fetchall()
        parts = database.execute(
            "SELECT message_id, substr(data, 1, ?), time_updated FROM part WHERE session_id = ?"
            " ORDER BY id DESC LIMIT ?",
            (MOST_BYTES, row["id"], MOST_PARTS),
        ).fetchall()
        newest = max(float(row["time_updated"]), *(float(one[2]) for one in (*messages, *parts)), 0.0)
        texts = [(str(one[0]), str(one[1])) for one in reversed(messages)]
        return newest / 1000, opencode.rows(row, texts, [(str(one[0]), str(one[1])) for one in reversed(parts)])


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        seen = os.stat(path)  # noqa: PTH116 - strings throughout
    except OSError:
        return None
    return (seen.st_ino, seen.st_size, seen.st_mtime_ns)


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
