"""Process trees: ending one, and looking at one. Only what our records say we started.

A tree is the delegate (pid + start time + boot), its process group and session, its descendants, and
whatever escaped them but still bears the job's id in its environment (``OSRC_JOB_ID``), which only
something the delegate started can have inherited; on Windows, what is in the job's job object.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ..messages.internal import TreeLooked
from ..messages.job import Identity
from ..state.identity import boot_id, judge
from ..state.processes import WANT, ProcessRow, cpu_ticks, descendants, members, snapshot, ticks_per_second
from .base import Handle, log
from .job_objects import members as held_together
from .signals import CONT, KILL, TERM, send

JOB_VARIABLE = "OSRC_JOB_ID"
PRUNED = frozenset({".git", "node_modules", ".venv", "venv", "target", "dist", "__pycache__", ".tox", ".hg", ".svn"})
"""Folders whose changes are a tool's and not the delegate's, or that are too large to walk."""
WALK_LIMIT = 200_000
WALK_S = 5.0
SAMPLE_S = 1.0
BUSY_SHARE = 0.02
"""Share of one processor that counts as work."""
LONGEST_LOOK_S = 0.5
"""As much of the time between two looks counts as grace."""


BLIND_LOOKS, BLIND_PAUSE_S = 120, 0.5
"""How often it is tried again to look where no descriptors are left, and how long is waited in between."""
_LOOKING = threading.Lock()


def tree_of(job_id: str, delegate: Identity | None, shim: Identity | None) -> list[ProcessRow]:
    """Return the living processes of a job's tree, deepest first; never the shim, never ourselves.

    One look at a time: each is thousands of short reads, and two hundred at once (a whole supervisor is
    stopped with ``cancel``) would hold each other up at every one of them, past every deadline.
    """
    with _LOOKING:
        return _look_at_all(job_id, delegate, shim)


def _look_at_all(job_id: str, delegate: Identity | None, shim: Identity | None) -> list[ProcessRow]:
    rows = snapshot()
    found: dict[int, ProcessRow] = {}
    for identity in (delegate, shim):
        if identity is not None and identity.boot_id == boot_id():
            found.update((row.pid, row) for row in _under(identity, rows))
    found.update((pid, rows[pid]) for pid in held_together(job_id) if pid in rows)
    since = delegate.started if delegate is not None else shim.started if shim is not None else None
    if since is not None:
        for row in rows.values():
            if row.pid not in found and row.started >= since and _bears(row.pid, job_id):
                found[row.pid] = row
    mine = {os.getpid(), shim.pid if shim is not None else 0}
    chosen = [row for pid, row in found.items() if pid not in mine and row.state != "Z"]
    return sorted(chosen, key=lambda row: (row.started, row.pid), reverse=True)


def _under(identity: Identity, rows: dict[int, ProcessRow]) -> list[ProcessRow]:
    """Return a process that our records name, its descendants, and the members of its group and session."""
    row = rows.get(identity.pid)
    if row is not None and judge(row, identity.started) == "gone":
        return []  # its pid is a stranger's now: its group had no members left, and one of that id is the stranger's
    # An id is not given to anyone else while it names a group with members; ours are newer than its leader.
    both = members(rows, pgid=identity.pid) + members(rows, sid=identity.pid)
    group = [member for member in both if member.started >= identity.started]
    return group if row is None else [row, *descendants(identity.pid, rows), *group]


def end_tree(job_id: str, delegate: Identity | None, shim: Identity | None, grace_s: float) -> tuple[int, ...]:
    """End a job's tree: TERM, wait for the grace, KILL, look again. Blocks. Returns the pids that stayed."""
    if grace_s > 0 and _leaves(job_id, delegate, shim, grace_s):
        return ()
    left = _left(job_id, delegate, shim)
    deadline = time.monotonic() + 3.0
    while left and time.monotonic() < deadline:
        _signal(left, KILL)
        time.sleep(0.02)
        left = _left(job_id, delegate, shim)
    if left:
        log.error("%s: %d processes would not end: %s", job_id, len(left), [row.pid for row in left])
    return tuple(row.pid for row in left)


def _leaves(job_id: str, delegate: Identity | None, shim: Identity | None, grace_s: float) -> bool:
    """Ask a tree to leave, also what of it turns up meanwhile; return whether all of it did within the grace.

    The grace runs from the asking (a first look may have to wait for others'), and of a long gap between two
    looks little counts: a machine that stood still gave nobody time to leave.
    """
    asked: set[tuple[int, float]] = set()
    waited_s = 0.0
    left = _left(job_id, delegate, shim)
    while left:
        _signal((row for row in left if (row.pid, row.started) not in asked), TERM)
        asked.update((row.pid, row.started) for row in left)
        _signal((row for row in left if row.state in ("T", "t")), CONT)
        if waited_s >= grace_s:
            return False
        before = time.monotonic()
        time.sleep(min(0.05, grace_s))
        left = _left(job_id, delegate, shim)
        waited_s += min(time.monotonic() - before, LONGEST_LOOK_S)
    return True


def _left(job_id: str, delegate: Identity | None, shim: Identity | None) -> list[ProcessRow]:
    """Return what is left of a tree. Nothing must be seen twice: a list of processes is not one moment's.

    One that forks and leaves while the list is made can be missed together with its child.
    """
    rows = _seen(job_id, delegate, shim)
    if not rows:
        time.sleep(0.02)
        rows = _seen(job_id, delegate, shim)
    return rows


def _seen(job_id: str, delegate: Identity | None, shim: Identity | None) -> list[ProcessRow]:
    """Look until somebody can be seen or not: without descriptors nobody can, and that is not nobody."""
    for _ in range(BLIND_LOOKS):
        try:
            return tree_of(job_id, delegate, shim)
        except OSError as error:
            if error.errno not in WANT:
                raise
            log.warning("%s: its processes can't be looked at now: %s", job_id, error.strerror)
        time.sleep(BLIND_PAUSE_S)
    return tree_of(job_id, delegate, shim)


def look_at_tree(  # noqa: PLR0913  what was seen last time comes in by name
    *,
    job_id: str,
    delegate: Identity,
    shim: Identity | None,
    cwd: str,
    since: float,
    depth: int,
    look_files: bool,
    cpu_before_s: float,
    over_s: float,
) -> TreeLooked:
    """Look at files and processor time. Blocks for at most a few seconds on a huge work tree.

    ``since`` is epoch seconds; ``over_s`` is the time that the processor seconds since
    ``cpu_before_s`` are spread over; without an earlier look (-1) two are taken, a second apart.
    """
    if cpu_before_s < 0:  # nothing to compare with yet
        cpu_before_s, over_s = _cpu_s(job_id, delegate, shim), SAMPLE_S
        time.sleep(SAMPLE_S)
    cpu_s = _cpu_s(job_id, delegate, shim)
    busy = over_s > 0 and (cpu_s - cpu_before_s) / over_s >= BUSY_SHARE
    return TreeLooked(files=look_files and newer_file(cwd, since, depth), busy=busy, cpu_s=cpu_s)


def _cpu_s(job_id: str, delegate: Identity, shim: Identity | None) -> float:
    return cpu_ticks(tree_of(job_id, delegate, shim)) / ticks_per_second()


def newer_file(folder: str, since: float, depth: int) -> bool:
    """Whether anything under ``folder`` was changed after ``since`` (epoch seconds).

    Bounded in depth, number and time.
    """
    deadline = time.monotonic() + WALK_S
    left = WALK_LIMIT
    level = [folder]
    for _ in range(depth + 1):
        below: list[str] = []
        for place in level:
            try:
                with os.scandir(place) as entries:
                    for entry in entries:
                        left -= 1
                        if left <= 0 or time.monotonic() > deadline:
                            return False
                        if entry.name in PRUNED:
                            continue
                        try:
                            if entry.stat(follow_symlinks=False).st_mtime > since:
                                return True
                            if entry.is_dir(follow_symlinks=False):
                                below.append(entry.path)
                        except OSError:
                            continue
            except OSError:
                continue
        level = below
    return False


def in_background(name: str, to: Handle, work: Callable[[], object], *, otherwise: object) -> None:
    """Run blocking work in a thread of its own and tell its result; ``otherwise`` if it fails, which is logged."""

    def run() -> None:
        try:
            result = work()
        except Exception:  # noqa: BLE001  the actor must get an answer, whatever it was
            log.exception("%s failed", name)
            result = otherwise
        to.tell(result)

    threading.Thread(target=run, name=name, daemon=True).start()


def _signal(rows: Iterable[ProcessRow], number: int) -> None:
    for row in rows:
        send(row, number)


def _bears(pid: int, job_id: str) -> bool:
    """Whether a process inherited the job's id. Only where the system tells cheaply (Linux, Windows)."""
    if sys.platform == "win32":
        return _environment_of(pid).get(JOB_VARIABLE) == job_id
    if sys.platform != "linux":
        return False
    try:
        block = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"{JOB_VARIABLE}={job_id}".encode() in block.split(b"\0")


def _environment_of(pid: int) -> dict[str, str]:
    import psutil  # noqa: PLC0415  not needed on Linux

    try:
        return psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return {}
