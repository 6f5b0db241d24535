"""The lanes of one state home: built-in ones, installed packages', and the files of ``lanes.d``.

The files are read again when any of them changed; a file that can't be used is a problem of its own
and never hides another lane.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

from ..lanes.contract import Lane
from ..lanes.registry import ENTRY_POINTS, Registry, all_lanes
from ..messages.refusals import RefusalCode, Refused
from ..state.errors import StateError, from_os_error, printable
from ..state.files import read_private
from ..state.home import Home
from .base import log

FILE_LIMIT = 256 * 1024
FILES = 500
FOR_NOW = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ESTALE, errno.EAGAIN, errno.EINTR})
"""What says nothing of a file itself."""
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
Seen = tuple[tuple[str, int, int, int, int], ...]
"""Path, modification time, size, mode and owner of each lane file."""


class LaneBook:
    """Reads the declared lanes when they have changed. May be used from any thread."""

    def __init__(self, home: Home) -> None:
        self._folder = home.lanes_dir
        self._lock = threading.Lock()
        self._known: tuple[Seen | None, Registry] = (None, Registry())
        """What was read, and what came of it: replaced as one."""
        self._plugins: dict[str, object] | None = None

    def registry(self) -> Registry:
        """Return the lanes as they are now; as they were last, where nobody can read them for the moment."""
        return self._current()[0]

    def lane(self, name: str) -> Lane | None:
        """Return a lane; None when there is none of that name.

        Raises StateError where nobody can tell for the moment (no descriptors are left, say): a lane is gone
        when its file is, not when that can't be read.
        """
        registry, trouble = self._current()
        for known in (registry, self._known[1]):
            found = known.get(name)
            if isinstance(found, Lane):
                return found
        if trouble is not None:
            raise trouble
        return None

    def _current(self) -> tuple[Registry, StateError | None]:
        known, registry = self._known
        try:
            seen = self._look()
        except OSError as error:
            return registry, from_os_error(error, self._folder, "read")
        if seen == known:
            return registry, None
        with self._lock:
            contents, problems, trouble = self._read(seen)
            registry = all_lanes(contents, self._packages())
            registry = replace(registry, problems=(*registry.problems, *problems))
            if trouble is None:
                self._known = (seen, registry)
            return registry, trouble

    def _look(self) -> Seen:
        """Return what can be told of the files without reading them. Raises OSError where that is not to be had now."""
        rows = []
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".toml"):
                        found = entry.stat(follow_symlinks=False)
                        rows.append((entry.path, found.st_mtime_ns, found.st_size, found.st_mode, found.st_uid))
        except OSError as error:
            if error.errno in FOR_NOW:
                raise
            return ()
        return tuple(sorted(rows)[:FILES])

    @staticmethod
    def _read(seen: Seen) -> tuple[dict[str, bytes], list[Refused], StateError | None]:
        """Return the content of each file, what is wrong with those that are not read, and what is only so for now."""
        contents: dict[str, bytes] = {}
        problems = []
        trouble: StateError | None = None
        for path, _, _, mode, owner in seen:
            problem = _unsafe(path, mode, owner)
            try:
                data = read_private(Path(path), FILE_LIMIT) if problem is None else None
            except StateError as error:
                problem = _problem(path, error.message, error.hint)
                cause = error.__cause__
                trouble = error if isinstance(cause, OSError) and cause.errno in FOR_NOW else trouble
            else:
                if data is not None:
                    contents[path] = data
            if problem is not None:
                problems.append(problem)
        return contents, problems, trouble

    def _packages(self) -> dict[str, object]:
        if self._plugins is None:
            self._plugins = {}
            for point in entry_points(group=ENTRY_POINTS):
                try:
                    self._plugins[point.name] = point.load()
                except Exception as error:  # noqa: BLE001  a foreign package's import may raise anything
                    log.warning("the lane package %s can't be loaded: %s", point.name, error)
        return self._plugins


def _unsafe(path: str, mode: int, owner: int) -> Refused | None:
    """Say why a file is not to be believed, before it is opened: what it names is run."""
    if stat.S_ISLNK(mode):
        return _problem(path, "it is a symbolic link, and none is followed here", "put the file itself there")
    if not stat.S_ISREG(mode):
        return _problem(path, "it is not a regular file", "remove it")
    if not hasattr(os, "getuid"):
        return None  # a platform without owners and modes
    if owner not in (os.getuid(), 0):
        return _problem(path, "it belongs to another user, who could have it run anything", "put your own file there")
    if mode & OTHERS_MAY_WRITE:
        return _problem(
            path, "other users may write to it, and so have it run anything", f"chmod go-w {printable(path)}"
        )
    return None


def _problem(path: str, what: str, hint: str | None) -> Refused:
    return Refused(code=RefusalCode.BAD_CONFIG, message=f"{printable(path)}: {what}", hint=hint)
