"""SQLite's errors in words a person can act on. Apart from ``errors`` because loading sqlite3 takes time."""

from __future__ import annotations

import os
import sqlite3

from .errors import HOME_FIX, ROOM_FIX, DamagedStore, StateError, printable

TROUBLE = (sqlite3.Error, UnicodeDecodeError)
"""What sqlite3 raises: the second when SQLite quotes damaged bytes in its own message."""


def from_sqlite_error(error: sqlite3.Error | UnicodeDecodeError, path: str | os.PathLike[str]) -> StateError:
    """Return the sentence for an SQLite error met in the database ``path``. A bug of ours is raised as it is."""
    if isinstance(error, sqlite3.ProgrammingError):
        raise error
    where = printable(path)
    if isinstance(error, UnicodeDecodeError):
        return DamagedStore(message=f"{where} is damaged: its schema can't be read")
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary == sqlite3.SQLITE_FULL:
        return StateError("state_full", f"can't write {where}: the disk is full", ROOM_FIX)
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return StateError("state_unwritable", f"can't open {where} for writing: {error}", HOME_FIX)
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StateError(
            "state_unwritable",
            f"{where} is in use by another program that does not let go of it",
            "see which one with: osrc supervisor status",
        )
    if primary == sqlite3.SQLITE_IOERR:
        return StateError("state_unwritable", f"can't read or write {where}: {error}", HOME_FIX)
    # SQLITE_CORRUPT and SQLITE_NOTADB; and anything else (no such table, a value of the wrong kind) means
    # that the file is not the store that it should be.
    return DamagedStore(message=f"{where} is damaged: {error}")
