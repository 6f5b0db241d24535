"""The lanes of one state home: built-in ones, installed packages', and the files of ``lanes.d``.

The files are read again when any of them changed; a file that can't be used is a problem of its own
and never hides another lane.
"""

from __future__ import annotations

import os
import threading
from importlib.metadata import entry_points
from pathlib import Path

from ..lanes.contract import Lane
from ..lanes.registry import ENTRY_POINTS, Registry, all_lanes
from ..state.errors import StateError
from ..state.files import read_private
from ..state.home import Home
from .base import log

FILE_LIMIT = 256 * 1024
FILES = 500
Seen = tuple[tuple[str, int, int], ...]
"""Path, modification time and size of each lane file."""


class LaneBook:
    """Reads the declared lanes when they have changed. May be used from any thread."""

    def __init__(self, home: Home) -> None:
        self._folder = home.lanes_dir
        self._lock = threading.Lock()
        self._known: tuple[Seen | None, Registry] = (None, Registry())
        """What was read, and what came of it: replaced as one."""
        self._plugins: dict[str, object] | None = None

    def registry(self) -> Registry:
        """Return the lanes as they are now."""
        seen = self._look()
        known, registry = self._known
        if seen == known:
            return registry
        with self._lock:
            registry = all_lanes(self._read(seen), self._packages())
            self._known = (seen, registry)
            return registry

    def lane(self, name: str) -> Lane | None:
        """Return a lane; None when there is none of that name."""
        found = self.registry().get(name)
        return found if isinstance(found, Lane) else None

    def _look(self) -> Seen:
        rows = []
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".toml") and entry.is_file():
                        stat = entry.stat()
                        rows.append((entry.path, stat.st_mtime_ns, stat.st_size))
        except OSError:
            return ()
        return tuple(sorted(rows)[:FILES])

    @staticmethod
    def _read(seen: Seen) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        for path, _, _ in seen:
            try:
                data = read_private(Path(path), FILE_LIMIT)
            except StateError as error:
                log.warning("%s", error)
                continue
            if data is not None:
                contents[path] = data
        return contents

    def _packages(self) -> dict[str, object]:
        if self._plugins is None:
            self._plugins = {}
            for point in entry_points(group=ENTRY_POINTS):
                try:
                    self._plugins[point.name] = point.load()
                except Exception as error:  # noqa: BLE001  a foreign package's import may raise anything
                    log.warning("the lane package %s can't be loaded: %s", point.name, error)
        return self._plugins
