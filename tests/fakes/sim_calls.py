"""The system calls and the store of a simulated supervisor: each may fail, and each may be its last."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fakes.sim_machine import Machine
from outsourcerer.messages.facts import Entry
from outsourcerer.state.errors import from_os_error
from outsourcerer.state.store import Store


def which(descriptor: int) -> tuple[int, int] | None:
    """Return what tells one open file from another; None for what is closed."""
    try:
        seen = os.fstat(descriptor)
    except OSError:
        return None
    return seen.st_dev, seen.st_ino


class Calls:
    """The world's half that stands between the tree and its files. The attributes are the world's."""

    machine: Machine
    generation: int
    committed: list[tuple[int, Entry]]
    _store: Store | None
    _descriptors: dict[int, tuple[object, bool, tuple[int, int] | None]]
    """Descriptor → what was opened, whether by the supervisor, and which file that is: numbers come again."""

    def _patch_calls(self, put: Callable[..., Any]) -> None:
        machine, descriptors, real = self.machine, self._descriptors, os.open

        def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            inside = isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(machine.root)
            if not inside:
                descriptor = real(path, flags, mode, dir_fd=dir_fd)
                descriptors.pop(descriptor, None)
                return descriptor
            machine.opening(path)
            if flags & os.O_CREAT and not os.path.lexists(path):
                machine.change(path)
            descriptor = real(path, flags, mode, dir_fd=dir_fd)
            descriptors[descriptor] = (path, machine.in_supervisor, which(descriptor))
            return descriptor

        put(os, "open", opened)
        close = os.close

        def closed(descriptor: int) -> None:
            descriptors.pop(descriptor, None)
            close(descriptor)

        put(os, "close", closed)
        write = os.write

        def written(descriptor: int, data: Any) -> int:
            if descriptor in descriptors:
                machine.change(descriptors[descriptor][0])
            return write(descriptor, data)

        put(os, "write", written)
        for name, makes in (
            ("replace", False),
            ("rename", False),
            ("mkdir", True),
            ("unlink", False),
            ("rmdir", False),
        ):
            put(os, name, self._changing(getattr(os, name), makes=makes))

    def _changing(self, real: Callable[..., Any], *, makes: bool) -> Callable[..., Any]:
        def call(path: Any, *given: Any, **named: Any) -> Any:
            self.machine.change(path, makes=makes)
            return real(path, *given, **named)

        return call

    def _patch_store(self, put: Callable[..., Any]) -> None:
        machine, real_open, real_append, real_commit = self.machine, Store.open.__func__, Store.append, Store.commit
        pending: list[Entry] = []

        def opened(cls: type[Store], path: Path, **named: Any) -> Store:
            machine.opening(os.fspath(path))
            fresh = not path.exists()
            store = real_open(cls, path, **named)
            if fresh:
                self.generation += 1
            self._store = store
            pending.clear()
            return store

        def append(store: Store, facts: Any, at: float) -> list[Entry]:
            entries = real_append(store, facts, at)
            pending.extend(entries)
            return entries

        def commit(store: Store) -> None:
            try:
                machine.change(machine.root)
            except OSError as error:
                store.rollback()
                pending.clear()
                raise from_os_error(error, store._path) from error
            try:
                real_commit(store)
            except BaseException:
                pending.clear()
                raise
            self.committed.extend((self.generation, entry) for entry in pending)
            pending.clear()
            machine.change(machine.root, makes=False)

        put(Store, "open", classmethod(opened))
        put(Store, "append", append)
        put(Store, "commit", commit)
        connect = sqlite3.connect

        def connected(*given: Any, **named: Any) -> sqlite3.Connection:
            # The one descriptor that may be left is enough for the main file, and not for its log.
            if machine.no_files and machine.in_supervisor and "immutable" not in str(given[0]):
                error = sqlite3.OperationalError("unable to open database file")
                error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
                raise error
            return connect(*given, **named)

        put(sqlite3, "connect", connected)
