"""What a machine must have left before another job is started, and how many may be started in an hour."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ..messages.refusals import RefusalCode, Refused
from ..state.errors import StateError, printable
from ..state.home import Home
from ..state.settings import Settings
from ..state.store import Reader

FRESH_S = 1.0
"""So long a figure is believed."""
HOUR_S = 3600.0
PLENTY = 500
"""More than other processes take within ``FRESH_S``: with so much room left, theirs are not counted each time."""
_MIB = 1024 * 1024
_MEMINFO_LIMIT = 65536


@dataclass(frozen=True, slots=True)
class Room:
    """Free bytes; None where the system does not tell, which refuses nobody."""

    memory: int | None
    disk: int | None


class Floors:
    """Looks at memory and disk at most once a second. May be used from any thread."""

    def __init__(self, home: Home, mono: Callable[[], float], look: Callable[[str], Room] | None = None) -> None:
        self._root = os.fspath(home.root)
        self._mono = mono
        self._look = look or look_at_room
        self._seen: tuple[float, Room] | None = None

    def check(self, settings: Settings) -> Refused | None:
        """Refuse a job that this machine has no room for, with the figures."""
        least_memory, least_disk = (int(settings.number(key) or 0) for key in ("min_free_memory", "min_free_disk"))
        if not least_memory and not least_disk:
            return None
        room = self._room()
        if room.memory is not None and room.memory < least_memory * _MIB:
            return _low("memory", "", room.memory, least_memory, "min_free_memory", settings)
        if room.disk is not None and room.disk < least_disk * _MIB:
            where = f" on the disk of {printable(self._root)}"
            return _low("space", where, room.disk, least_disk, "min_free_disk", settings)
        return None

    def _room(self) -> Room:
        now, seen = self._mono(), self._seen
        if seen is None or not 0 <= now - seen[0] <= FRESH_S:
            self._seen = seen = (now, self._look(self._root))
        return seen[1]


class Admission:
    """Both, for whoever takes a job. May be used from any thread."""

    def __init__(
        self,
        home: Home,
        *,
        wall: Callable[[], float] = time.time,
        mono: Callable[[], float] = time.monotonic,
        look: Callable[[str], Room] | None = None,
        attached: bool = False,
    ) -> None:
        self._wall = wall
        self._floors = Floors(home, mono, look)
        self._launches = Launches(home, attached=attached)

    def admit(self, settings: Settings, count: int = 1) -> Refused | None:
        """Take one more job, or so many as one, into account, or refuse them."""
        return self._floors.check(settings) or self._launches.admit(settings, self._wall(), count)

    def room(self, settings: Settings) -> Refused | None:
        """Refuse to start a job that was taken earlier and has waited, where there is no room for it now."""
        return self._floors.check(settings)


class Launches:
    """How many jobs were taken within the last hour: our own by count, others' from the store, each time.

    ``attached``: we live in a command, whose jobs bear its process as their owner; a supervisor's bear none.
    """

    def __init__(self, home: Home, *, attached: bool = False) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._owner = os.getpid() if attached else None
        self._taken: deque[float] | None = None
        """When each was taken, epoch seconds, oldest first."""
        self._seq = 0
        """The last acceptance that was seen in the store."""
        self._looked_at = 0.0
        """When the store was looked at, epoch seconds."""

    def admit(self, settings: Settings, now: float, count: int = 1) -> Refused | None:
        """Count one more job, or so many as one, or refuse them."""
        most = int(settings.number("launches_per_hour") or 0)
        if not most:
            return None
        with self._lock:
            taken = self._counted(now, most - count)
            while taken and taken[0] <= now - HOUR_S:
                taken.popleft()
            if len(taken) + count > most:
                if count > most:
                    return _too_many(count, most, settings)
                minutes = max(1, round((taken[count - most - 1] + HOUR_S - now) / 60))
                return Refused(
                    code=RefusalCode.TOO_MANY_LAUNCHES,
                    message=f"{len(taken)} jobs were taken within the last hour, and {most} are allowed "
                    f"({settings.origin('launches_per_hour')}); the next in about {minutes} min",
                    hint="if that is meant: osrc config set launches_per_hour N (0: any number)",
                )
            taken.extend([now] * count)
        return None

    def _counted(self, now: float, room: int) -> deque[float]:
        """Return what was taken within the hour; others' of the last second only where it may matter."""
        known = self._taken
        if known is not None and 0 <= now - self._looked_at <= FRESH_S and len(known) + PLENTY <= room:
            return known
        self._looked_at = now
        return self._since(now - HOUR_S)

    def _since(self, at: float) -> deque[float]:
        first = self._taken is None
        taken = deque[float]() if self._taken is None else self._taken
        try:
            with Reader(self._home.database) as reader:
                if first:
                    self._seq = reader.last_acceptance()
                    taken.extend(reader.accepted_since(at))
                else:
                    self._seq, found = reader.accepted_after(self._seq)
                    others = [at for at, owner in found if owner != self._owner]
                    taken = deque(sorted((*taken, *others))) if others else taken
        except StateError:
            pass  # a store that can't be read is another check's to refuse
        self._taken = taken
        return taken


def _too_many(count: int, most: int, settings: Settings) -> Refused:
    return Refused(
        code=RefusalCode.TOO_MANY_LAUNCHES,
        message=f"{count} jobs at once are more than the {most} that are allowed within an hour "
        f"({settings.origin('launches_per_hour')})",
        hint="if that is meant: osrc config set launches_per_hour N (0: any number)",
    )


def look_at_room(root: str) -> Room:
    """Return what is free now: memory that programs could get, and space on the disk of ``root``."""
    return Room(memory=_free_memory(), disk=_free_disk(root))


def _free_memory() -> int | None:
    if sys.platform == "linux":  # psutil reads the same line, at 10 ms and 4 MB for its import
        try:
            with open("/proc/meminfo", "rb") as file:  # noqa: PTH123  as above
                rows = file.read(_MEMINFO_LIMIT).split(b"\n")
            return next(int(row.split()[1]) * 1024 for row in rows if row.startswith(b"MemAvailable:"))
        except (OSError, StopIteration, ValueError, IndexError):
            return None
    import psutil  # noqa: PLC0415  where there is no /proc

    return int(psutil.virtual_memory().available)


def _free_disk(root: str) -> int | None:
    if not hasattr(os, "statvfs"):
        return None
    try:
        seen = os.statvfs(root)
    except OSError:
        return None
    blocks = seen.f_bfree if os.geteuid() == 0 else seen.f_bavail
    return blocks * seen.f_frsize if seen.f_blocks else None  # file systems that report nothing are believed


def _low(what: str, where: str, free: int, least: int, key: str, settings: Settings) -> Refused:  # noqa: PLR0913, PLR0917  one sentence
    return Refused(
        code=RefusalCode.LOW_RESOURCES,
        message=f"{free // _MIB} MiB of {what} are free{where}, and a job is started from {least} MiB on "
        f"({key}, {settings.origin(key)})",
        hint=f"free some, wait for jobs to end (osrc status), or: osrc config set {key} N",
    )
