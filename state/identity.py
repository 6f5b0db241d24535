"""Who a process is, for good: pid, start time and boot together name one process and no other.

A pid alone may be somebody else's tomorrow. Nothing is ever signalled or believed alive by pid alone.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Literal, TypedDict

from .processes import LINUX, ProcessRow, read_process

BOOTS = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters"
Liveness = Literal["running", "stopped", "zombie", "gone"]


class IdentityDict(TypedDict):
    """``messages.job.Identity`` as a plain dict."""

    pid: int
    started: float
    boot_id: str


@cache
def boot_id() -> str:
    """Return what names this boot of the machine. Never empty."""
    if LINUX:
        try:
            found = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            found = ""
        if found:
            return found
    if (counted := _boots()) is not None:
        return f"boot-{counted}"
    import psutil  # noqa: PLC0415 - not needed on an ordinary Linux

    return f"boot-{int(psutil.boot_time())}"


def _boots() -> int | None:
    """Return how often Windows was booted: when it was is told a second apart from one process to the next."""
    if sys.platform != "win32":
        return None
    import winreg  # noqa: PLC0415 - only there

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, BOOTS) as key:
            return int(winreg.QueryValueEx(key, "BootId")[0])
    except (OSError, ValueError):
        return None


def identify(pid: int) -> IdentityDict | None:
    """Return the identity of the process that has this pid now, or None. A zombie still has one."""
    row = read_process(pid)
    if row is None:
        return None
    return {"pid": pid, "started": row.started, "boot_id": boot_id()}


def look(pid: int, started: float, boot: str) -> Liveness:
    """Return how that process is now; ``gone`` also when the pid is somebody else's, or the boot another.

    ``stopped`` is SIGSTOP or a tracer; ``zombie`` has ended and was not waited for. About 15 µs on Linux.
    """
    if boot != boot_id():
        return "gone"
    return judge(read_process(pid), started)


def judge(row: ProcessRow | None, started: float) -> Liveness:
    """Return the same for a row of a snapshot (None: the pid is not there)."""
    if row is None or not same_start(row.started, started):
        return "gone"
    if row.state in ("T", "t"):
        return "stopped"
    if row.state == "Z":
        return "zombie"
    return "gone" if row.state in ("X", "x") else "running"


def same_start(one: float, other: float) -> bool:
    """Whether two start times, in the platform's unit, are of one process."""
    # Linux: whole ticks. Elsewhere: epoch seconds that went through JSON, and clocks that are read twice.
    return one == other if LINUX else abs(one - other) < 0.05
