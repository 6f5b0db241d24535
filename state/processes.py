"""What processes there are, read once: rows, and pure questions over them.

On Linux ``/proc`` is read directly (about 15 µs a process); elsewhere psutil, loaded when first needed.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple

LINUX = sys.platform == "linux"
WANT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""What says nothing of the process that was asked about."""


class ProcessRow(NamedTuple):
    """One process as it was at the snapshot."""

    pid: int
    ppid: int
    pgid: int
    sid: int
    state: str
    """One letter as in ``ps``: R S D running or waiting, T stopped, Z zombie, X dead."""
    started: float
    """Start time in the platform's unit, as in ``messages.job.Identity``."""
    cpu_ticks: int
    """User plus system CPU time, in clock ticks (``ticks_per_second``)."""


Snapshot = Mapping[int, ProcessRow]


def read_process(pid: int) -> ProcessRow | None:
    """Return one process's row, or None when there is none of that pid (or it may not be seen).

    Raises OSError where nobody can tell for want of descriptors or memory: that is no sign of anybody's end.
    """
    if not 0 < pid < 1 << 31:
        return None
    return _read_linux(pid) if LINUX else _read_psutil(pid)


def snapshot() -> dict[int, ProcessRow]:
    """Return every process that can be seen, without one that ends meanwhile. Raises OSError as ``read_process``."""
    rows = {}
    for pid in _pids():
        row = read_process(pid)
        if row is not None:
            rows[pid] = row
    return rows


def descendants(root_pid: int, rows: Snapshot) -> list[ProcessRow]:
    """Return the children of ``root_pid`` and theirs, deepest first; the root itself is not included.

    A row whose parent started after it is no child (its parent's pid was reused), and a snapshot
    that contradicts itself can't make this loop.
    """
    children: dict[int, list[ProcessRow]] = {}
    for row in rows.values():
        children.setdefault(row.ppid, []).append(row)
    found: list[ProcessRow] = []
    seen = {root_pid}
    level = [root_pid]
    while level:
        following = []
        for parent in level:
            known = rows.get(parent)
            for row in children.get(parent, ()):
                if row.pid in seen or (known is not None and row.started < known.started):
                    continue
                seen.add(row.pid)
                found.append(row)
                following.append(row.pid)
        level = following
    found.reverse()
    return found


def members(rows: Snapshot, *, pgid: int | None = None, sid: int | None = None) -> list[ProcessRow]:
    """Return the processes of one group, or of one session, newest first: they stay so when their parent ends."""
    chosen = [
        row for row in rows.values() if (pgid is not None and row.pgid == pgid) or (sid is not None and row.sid == sid)
    ]
    return sorted(chosen, key=lambda row: (row.started, row.pid), reverse=True)


def cpu_ticks(rows: Iterable[ProcessRow]) -> int:
    """Return the CPU time of some processes together, in clock ticks."""
    return sum(row.cpu_ticks for row in rows)


def ticks_per_second() -> int:
    """Return how many clock ticks a second has, in which ``cpu_ticks`` counts."""
    return os.sysconf("SC_CLK_TCK") if LINUX else _PSUTIL_TICKS


def _pids() -> list[int]:
    if LINUX:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - hot path
    import psutil  # noqa: PLC0415 - not needed on Linux

    return psutil.pids()


def _read_linux(pid: int) -> ProcessRow | None:
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY)  # Python lets no child inherit it
    except OSError as error:
        if error.errno in WANT:
            raise
        return None
    try:
        data = os.read(descriptor, 4096)
    except OSError:
        return None  # it ended between the two calls
    finally:
        os.close(descriptor)
    return parse_stat(pid, data)


def parse_stat(pid: int, data: bytes) -> ProcessRow | None:
    """Return the row of one ``/proc/PID/stat`` line; the command name in it may hold spaces and brackets."""
    fields = data[data.rfind(b")") + 1 :].split()
    if len(fields) < 20:
        return None
    try:
        state = fields[0].decode("ascii", "replace")
        if state == "Z" and int(fields[17]) > 1:
            state = "S"  # its first thread ended, others live on: not a zombie
        return ProcessRow(
            pid,
            int(fields[1]),
            int(fields[2]),
            int(fields[3]),
            state,
            int(fields[19]),
            int(fields[11]) + int(fields[12]),
        )
    except ValueError:
        return None


_PSUTIL_TICKS = 100
_PSUTIL_STATES = {"stopped": "T", "tracing-stop": "t", "zombie": "Z", "dead": "X", "running": "R"}


def _read_psutil(pid: int) -> ProcessRow | None:
    import psutil  # noqa: PLC0415 - not needed on Linux

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            state = _PSUTIL_STATES.get(str(process.status()), "S")
            started = process.create_time()
            ppid = process.ppid()
            try:
                times = process.cpu_times()
                ticks = int((times.user + times.system) * _PSUTIL_TICKS)
            except psutil.AccessDenied:
                ticks = 0
    except psutil.Error:
        return None
    try:
        pgid, sid = os.getpgid(pid), os.getsid(pid)
    except (AttributeError, OSError):
        pgid, sid = 0, 0
    return ProcessRow(pid, ppid, pgid, sid, state, started, ticks)
