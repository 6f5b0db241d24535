"""The coding tools that run on this machine, and where: command lines, folders, open files. Reads, and no more."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ..lanes.transcripts.follow import read_object
from ..lanes.transcripts.programs import is_session, script_of, tool_of, tool_of_package
from ..lanes.values import as_word
from ..messages.paths import is_absolute
from ..state.processes import LINUX, ProcessRow, Snapshot, snapshot, ticks_per_second
from .fleet_stores import small_file

_ARGV = 16 * 1024
_UP = 6
MOST_FILES = 512
"""Open files of one process that are looked at."""


@dataclass(frozen=True, slots=True)
class Running:
    """One running tool: the topmost process of it."""

    row: ProcessRow
    tool: str
    argv: tuple[str, ...]
    cwd: str | None
    started_at: float
    """Epoch seconds."""

    @property
    def version(self) -> str | None:
        """The version of its package, where it is a script of one."""
        script = script_of(self.argv)
        return packaged_version(script, self.tool) if script is not None and is_absolute(script) else None


class Look:
    """One look at all processes."""

    def __init__(self, rows: Snapshot | None = None) -> None:
        """Look."""
        self.rows = snapshot() if rows is None else rows
        self._children: dict[int, list[int]] = {}
        for row in self.rows.values():
            self._children.setdefault(row.ppid, []).append(row.pid)

    def tools(self) -> list[Running]:
        """Return what runs, newest last. A process below another of the same tool is part of that one."""
        begun = epoch_of_boot()
        known = {}
        for pid in self.rows:
            argv = command_line(pid)
            tool = tool_of(argv) if argv else None
            if tool is not None:
                known[pid] = (tool, argv)
        found = []
        for pid, (tool, argv) in sorted(known.items()):
            if is_session(argv) and not any(known.get(one, ("",))[0] == tool for one in self.above(pid)):
                row = self.rows[pid]
                found.append(Running(row, tool, argv, folder_of(pid), started_at(row, begun)))
        return found

    def above(self, pid: int) -> list[int]:
        """Return the ancestors of a process, nearest first."""
        found: list[int] = []
        row = self.rows.get(pid)
        while row is not None and row.ppid > 0 and row.ppid not in found and len(found) < 64:
            found.append(row.ppid)
            row = self.rows.get(row.ppid)
        return found

    def below(self, pid: int) -> list[int]:
        """Return a process and all that it started."""
        found, level = [pid], [pid]
        while level:
            level = [child for one in level for child in self._children.get(one, ()) if child not in found]
            found += level
        return found

    def open_files(self, pid: int) -> frozenset[str]:
        """Return the files that a process and those below it hold open, as far as that can be seen."""
        found: set[str] = set()
        for one in self.below(pid):
            with contextlib.suppress(OSError):
                for number, name in enumerate(os.listdir(f"/proc/{one}/fd")):  # noqa: PTH208 - hot
                    if number >= MOST_FILES:
                        break
                    with contextlib.suppress(OSError):
                        found.add(os.readlink(f"/proc/{one}/fd/{name}"))  # noqa: PTH115 - as above
        return frozenset(path for path in found if path.startswith("/") and not path.startswith("/dev/"))

    def runs_since(self, pid: int, moment: float) -> bool:
        """Return whether something that a process started since then (epoch seconds) still runs."""
        boot = epoch_of_boot()
        rows = (self.rows[one] for one in self.below(pid)[1:] if one in self.rows)
        return any(row.state not in "ZX" and started_at(row, boot) >= moment for row in rows)

    def ticks(self, pid: int) -> int:
        """Return the processor time of a process and all that it started, in clock ticks."""
        return sum(self.rows[one].cpu_ticks for one in self.below(pid) if one in self.rows)


def command_line(pid: int) -> tuple[str, ...]:
    """Return a process's command line; empty where there is none to see."""
    if LINUX:
        try:
            descriptor = os.open(f"/proc/{pid}/cmdline", os.O_RDONLY)
        except OSError:
            return ()
        try:
            data = os.read(descriptor, _ARGV)
        except OSError:
            return ()
        finally:
            os.close(descriptor)
        return tuple(word.decode("utf-8", "replace") for word in data.rstrip(b"\0").split(b"\0")) if data else ()
    import psutil  # noqa: PLC0415 - not needed on Linux

    try:
        return tuple(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ()


@lru_cache(maxsize=256)
def packaged_version(script: str, tool: str) -> str | None:
    """Return the version of the package that a tool's script lies in, by its ``package.json``; None where none is."""
    folder = os.path.realpath(script)
    for _ in range(_UP):
        folder = folder.rpartition("/")[0]
        told = read_object(small_file(f"{folder}/package.json") or b"") if folder else None
        if told is not None and tool_of_package(told.get("name")) == tool:
            return as_word(told.get("version"), 40)
    return None


def has_terminal(pid: int) -> bool | None:
    """Return whether a process reads from a terminal; None where that can't be seen."""
    if not LINUX:
        return None
    try:
        said = os.readlink(f"/proc/{pid}/fd/0")  # noqa: PTH115 - hot
    except OSError:
        return None
    return said.startswith(("/dev/pts/", "/dev/tty", "/dev/console"))


def folder_of(pid: int) -> str | None:
    """Return where a process works, or None."""
    try:
        if LINUX:
            return os.readlink(f"/proc/{pid}/cwd").removesuffix(" (deleted)")  # noqa: PTH115 - as above
        import psutil  # noqa: PLC0415 - not needed on Linux

        try:
            return psutil.Process(pid).cwd()
        except psutil.Error:
            return None
    except OSError:
        return None


def started_at(row: ProcessRow, boot: float) -> float:
    """Return when a process started, in epoch seconds."""
    return boot + row.started / ticks_per_second() if LINUX else row.started


def epoch_of_boot() -> float:
    """When this machine was booted, in epoch seconds as the wall clock has them now."""
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) if LINUX else 0.0


def busy_share(before: Mapping[int, tuple[float, int]], pid: int, now: float, ticks: int) -> float | None:
    """Return how much of one processor was used since the look before, or None where there was none."""
    seen = before.get(pid)
    if seen is None or now - seen[0] < 0.5:
        return None
    return max(0, ticks - seen[1]) / ticks_per_second() / (now - seen[0])


def lines_of(rows: Iterable[ProcessRow], word: str) -> list[tuple[str, ...]]:
    """Return the command lines of the processes whose program has that name."""
    lines = (command_line(row.pid) for row in rows)
    return [line for line in lines if line and line[0].rpartition("/")[2].split(":")[0] == word]
