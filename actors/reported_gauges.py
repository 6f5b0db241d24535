"""Looking at what others wrote down of the plans' gauges: Codex's rollouts, and the tap's file. Never writes.

Standard library only, and bounded: ``limits`` and ``brief`` are quick however much there is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

from ..lanes.reported_gauges import Told, from_rollout, from_tap
from ..state.errors import StateError
from ..state.files import open_regular, read_private
from ..state.gauges import CHATGPT, CLAUDE, Gauge

TAP_FILE = "rate-limits.json"
TAP_LIMIT = 64 * 1024
TAIL = 256 * 1024
"""Bytes of a rollout's end that are read."""
ROLLOUTS = 6
"""Newest rollouts that are looked at: the last of them may be of a run that was told nothing."""
DAYS = 8
"""Days that are looked at: no window is longer."""


def told(home: str, environ: Mapping[str, str]) -> list[Gauge]:
    """Return the gauges that were written down outside the store. ``home`` is the state home."""
    found = [_gauge(CLAUDE, one, "statusline") for one in from_tap(_read(f"{home}/{TAP_FILE}"))]
    base = environ.get("CODEX_HOME") or f"{environ.get('HOME') or '/'}/.codex"
    for path in _newest_rollouts(f"{base}/sessions"):
        if windows := from_rollout(tail_of(path)):
            found += [_gauge(CHATGPT, one, "rollout") for one in windows]
            break
    return found


def rollout_of(environ: Mapping[str, str], thread: str) -> str | None:
    """Return the rollout of a thread of Codex that began in the last days; None where none is found."""
    base = environ.get("CODEX_HOME") or f"{environ.get('HOME') or '/'}/.codex"
    for number, day in enumerate(_days(f"{base}/sessions")):
        if number >= DAYS:
            break
        with contextlib.suppress(OSError), os.scandir(day) as entries:
            for entry in entries:
                if entry.name.startswith("rollout-") and entry.name.endswith(f"-{thread}.jsonl"):
                    return entry.path
    return None


def _gauge(key: str, one: Told, source: str) -> Gauge:
    return Gauge(
        key=key,
        name=one.name,
        utilization=one.utilization,
        resets_at=one.resets_at,
        measured_at=one.measured_at,
        source=source,
    )


def _newest_rollouts(root: str) -> list[str]:
    """Return the rollouts that were written to last, newest first, of the newest days."""
    found: list[tuple[int, str]] = []
    for number, day in enumerate(_days(root)):
        if number >= DAYS:
            break
        with contextlib.suppress(OSError), os.scandir(day) as entries:
            for entry in entries:
                if entry.name.endswith(".jsonl"):
                    with contextlib.suppress(OSError):
                        found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    return [path for _, path in sorted(found, reverse=True)[:ROLLOUTS]]


def _days(root: str) -> Iterator[str]:
    for year in _numbered(root):
        for month in _numbered(year):
            yield from _numbered(month)


def _numbered(folder: str) -> list[str]:
    try:
        names = [name for name in os.listdir(folder) if name.isdecimal()]  # noqa: PTH208 - strings, in a quick command
    except OSError:
        return []
    return [f"{folder}/{name}" for name in sorted(names, reverse=True)]


def tail_of(path: str) -> bytes:
    """Return the last bytes of a file, at most ``TAIL``; nothing of one that can't be read, or is no file."""
    try:
        descriptor = open_regular(path)
    except (OSError, StateError):
        return b""
    try:
        size = os.fstat(descriptor).st_size
        os.lseek(descriptor, max(0, size - TAIL), os.SEEK_SET)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(TAIL)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _read(path: str) -> bytes:
    try:
        return read_private(path, TAP_LIMIT) or b""
    except (OSError, StateError):
        return b""
