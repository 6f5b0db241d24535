"""What jobs of each lane have used of the memory, and how much is free.

A lane's figure is the largest resident size of one job's process tree that was seen; it is kept beside the store,
best effort: a figure that is lost is measured again, and until then holds nobody back.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..state.errors import StateError
from ..state.files import read_private, write_private
from ..state.home import Home

FILE = "lane-memory.json"
_LIMIT = 64 * 1024
_CGROUP = Path("/sys/fs/cgroup")


class MemoryBook:
    """Lane → bytes that one of its jobs has used at most. May be used by several threads."""

    def __init__(self, home: Home) -> None:
        self._path = home.root / FILE
        self._lock = threading.Lock()
        self._peaks: dict[str, int] | None = None

    def need(self, lane: str) -> int | None:
        """Return what one job of a lane has used at most, in bytes; None: none was measured."""
        with self._lock:
            return self._known().get(lane)

    def saw(self, used: Mapping[str, int]) -> None:
        """Take lane → bytes of one job as they were measured."""
        with self._lock:
            known = self._known()
            larger = {lane: size for lane, size in used.items() if size > known.get(lane, 0) * 1.05}
            if not larger:
                return
            known.update(larger)
            with contextlib.suppress(StateError):
                write_private(self._path, json.dumps(known).encode())

    def _known(self) -> dict[str, int]:
        if self._peaks is None:
            self._peaks = _read(self._path)
        return self._peaks


def free_memory() -> int | None:
    """Return the bytes that may be used before anything is swapped or killed; None: unknown."""
    import psutil  # noqa: PLC0415  not loaded where nobody measures

    try:
        free = int(psutil.virtual_memory().available)
    except (OSError, psutil.Error):
        return None
    with contextlib.suppress(OSError, ValueError):
        most = (_CGROUP / "memory.max").read_text().strip()
        if most != "max":
            free = min(free, max(0, int(most) - int((_CGROUP / "memory.current").read_text())))
    return free


def measured(jobs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return lane → resident bytes of the largest tree among ``jobs`` (lane, pid of the delegate)."""
    import psutil  # noqa: PLC0415  as above

    found: dict[str, int] = {}
    for lane, pid in jobs:
        total = 0
        try:
            root = psutil.Process(pid)
            tree = [root, *root.children(recursive=True)]
        except psutil.Error:
            continue
        for process in tree:
            with contextlib.suppress(psutil.Error):
                total += int(process.memory_info().rss)
        found[lane] = max(found.get(lane, 0), total)
    return found


def _read(path: Path) -> dict[str, int]:
    try:
        data = read_private(path, _LIMIT)
        value: Any = json.loads(data) if data else {}
    except (StateError, ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    return {str(lane): size for lane, size in value.items() if type(size) is int and 0 < size < 1 << 50}
