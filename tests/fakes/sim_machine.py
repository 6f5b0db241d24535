"""A machine that is not there: two clocks, processes, and system calls that fail or are the last one.

Everything happens in one thread and in an order that one ``random.Random`` draws, so that a seed is a
history. It outlives every supervisor that is killed on it, as a machine does.
"""

from __future__ import annotations

import contextlib
import errno
import heapq
import itertools
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from outsourcerer.state.identity import boot_id
from outsourcerer.state.job_machine import Now
from outsourcerer.state.processes import ProcessRow

FIRST_PID = 5_000_001
"""Above every pid that a kernel gives: nothing of the real machine can be meant."""
TERM, KILL, STOP, CONT = 15, 9, 19, 18
IDLE = "idle"
"""What a program yields that only waits."""
Program = Iterator[object]


class Killed(BaseException):
    """The supervisor got SIGKILL: nothing after this line of it happens."""


@dataclass(eq=False)
class Proc:
    """One process."""

    pid: int
    ppid: int
    pgid: int
    sid: int
    started: int
    kind: str
    """shim, delegate, child, keeper, check, supervisor, holder or stranger."""
    job_id: str | None = None
    state: str = "S"
    wakes_at: float = 0.0
    program: Program | None = None
    ignores: set[int] = field(default_factory=set)
    signals: list[int] = field(default_factory=list)
    status: tuple[str, int] = ("code", 0)
    descriptors: list[int] = field(default_factory=list)
    open_gate: bool = False
    idle: bool = False
    last_call: int | None = None
    """After how many more changing system calls of its own it is dead."""

    @property
    def there(self) -> bool:
        return self.state not in "ZX"

    def row(self) -> ProcessRow:
        return ProcessRow(self.pid, self.ppid, self.pgid, self.sid, self.state, self.started, 0)

    def identity(self) -> dict[str, object]:
        return {"pid": self.pid, "started": self.started, "boot_id": boot_id()}


class Machine:
    """See the module."""

    def __init__(self, chance: random.Random, root: Path) -> None:
        self.chance = chance
        self.root = os.fspath(root)
        self.wall, self.mono = 1_800_000_000.0, 1000.0
        self.table: dict[int, Proc] = {}
        self.everybody: list[Proc] = []
        self._pids = itertools.count(FIRST_PID)
        self._freed: list[int] = []
        """Pids of the dead: strangers get them, so that what a record names is soon somebody else."""
        self._starts = itertools.count(1000)
        self._timers: list[tuple[float, int]] = []
        self._due: dict[int, tuple[object, object]] = {}
        self._tokens = itertools.count(1)
        # faults that are on
        self.full = False
        """No room on the disk."""
        self.no_files = False
        """No more descriptors for the supervisor."""
        self.last_call: int | None = None
        """After how many more changing system calls of the supervisor it is dead."""
        self.failing_call: int | None = None
        """The same, but that one call fails for want of room."""
        self.dead = False
        self.in_supervisor = False
        self.current: Proc | None = None
        """Whose program has its turn."""
        self.calls = 0
        self.happened: list[str] = []

    # --- time: the Clock protocol, and what replaces the time module

    def now(self) -> Now:
        return Now(self.wall, self.mono)

    def later(self, delay_s: float, to: object, message: object) -> int:
        token = next(self._tokens)
        self._due[token] = (to, message)
        heapq.heappush(self._timers, (self.mono + max(0.0, delay_s), token))
        return token

    def forget(self, token: int) -> None:
        self._due.pop(token, None)

    def forget_all(self) -> None:
        """The supervisor is gone: nobody is told anything."""
        self._due.clear()
        self._timers.clear()

    def next_event(self) -> float | None:
        """When something happens next by itself; None where nothing ever will."""
        while self._timers and self._timers[0][1] not in self._due:
            heapq.heappop(self._timers)
        times = [proc.wakes_at for proc in self.table.values() if proc.state == "S" and proc.wakes_at > self.mono]
        if self._timers:
            times.append(self._timers[0][0])
        return min(times, default=None)

    def pass_time(self, seconds: float) -> None:
        """Let time pass; what is due by then is told."""
        until = self.mono + max(0.0, seconds)
        while self._timers and self._timers[0][0] <= until:
            at, token = heapq.heappop(self._timers)
            entry = self._due.pop(token, None)
            if entry is None:
                continue
            if at > self.mono:
                self.wall, self.mono = self.wall + at - self.mono, at
            entry[0].tell(entry[1])  # type: ignore[attr-defined]
        if until > self.mono:
            self.wall, self.mono = self.wall + until - self.mono, until

    # --- processes

    def spawn(
        self,
        kind: str,
        *,
        parent: Proc | None = None,
        job_id: str | None = None,
        program: Callable[[Proc], Program] | None = None,
        own_session: bool = True,
    ) -> Proc:
        """Start a process. Its pid is one that is free, and was another's before."""
        groups = {proc.pgid for proc in self.table.values()} | {proc.sid for proc in self.table.values()}
        free = [pid for pid in self._freed if pid not in self.table and pid not in groups] if kind == "stranger" else []
        pid = self.chance.choice(free) if free else next(self._pids)
        same = parent is not None and not own_session
        proc = Proc(
            pid=pid,
            ppid=parent.pid if parent is not None else 1,
            pgid=parent.pgid if same and parent is not None else pid,
            sid=parent.sid if same and parent is not None else pid,
            started=next(self._starts),
            kind=kind,
            job_id=job_id,
        )
        proc.program = program(proc) if program is not None else None
        self.table[pid] = proc
        self.everybody.append(proc)
        return proc

    def exit(self, proc: Proc, *, code: int | None = None, signal: int | None = None) -> None:
        """End a process: a zombie while its parent does not look, its children are its subreaper's or init's."""
        if not proc.there:
            return
        proc.status = ("signal", signal) if signal is not None else ("code", code or 0)
        program, proc.program = proc.program, None
        if program is not None and not getattr(program, "gi_running", False):
            program.close()  # type: ignore[attr-defined]
        for descriptor in proc.descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        proc.descriptors.clear()
        parent = self.table.get(proc.ppid)
        waits = parent is not None and parent.kind in ("shim", "holder", "keeper") and parent.there
        heir = parent.pid if waits and parent is not None else 1
        for child in list(self.table.values()):
            if child.ppid == proc.pid:
                child.ppid = heir
                if not child.there and heir == 1:
                    self.reap(child)
        proc.state = "Z"
        if not waits:
            self.reap(proc)
        if parent is not None:
            parent.idle = False
        for other in self.table.values():
            other.idle = False

    def reap(self, proc: Proc) -> tuple[str, int]:
        if self.table.get(proc.pid) is proc:
            del self.table[proc.pid]
            self._freed.append(proc.pid)
        proc.state = "X"
        return proc.status

    def signal(self, proc: Proc, number: int) -> None:
        """Deliver a signal."""
        if not proc.there:
            return
        proc.signals.append(number)
        if number == KILL:
            self.exit(proc, signal=KILL)
        elif number == STOP:
            proc.state = "T"
        elif number == CONT:
            proc.state = "S"
        elif number == TERM and TERM not in proc.ignores and proc.kind != "stranger":
            if proc.state == "T":
                proc.signals.append(-TERM)  # pending until it goes on
                proc.wakes_at = 0.0
            else:
                self.exit(proc, signal=TERM)

    def read_process(self, pid: int) -> ProcessRow | None:
        self.opening(self.root)
        proc = self.table.get(pid)
        return None if proc is None else proc.row()

    def pids(self) -> list[int]:
        self.opening(self.root)
        return list(self.table)

    def bears(self, pid: int, job_id: str) -> bool:
        proc = self.table.get(pid)
        return proc is not None and proc.kind in ("delegate", "child") and proc.job_id == job_id

    def ready(self) -> list[Proc]:
        """Processes that have something to do now."""
        return [
            proc
            for proc in self.table.values()
            if proc.program is not None and proc.state == "S" and proc.wakes_at <= self.mono and not proc.idle
        ]

    def run(self, proc: Proc) -> None:
        """One step of one program."""
        if -TERM in proc.signals and TERM not in proc.ignores:
            self.exit(proc, signal=TERM)
            return
        assert proc.program is not None
        # The supervisor may wait meanwhile: what this one opens is no file of the supervisor's all the same.
        inside, self.in_supervisor = self.in_supervisor, False
        before, self.current = self.current, proc
        try:
            said = next(proc.program)
        except StopIteration:
            self.exit(proc, code=proc.status[1] if proc.status[0] == "code" else 0)
            return
        except Killed:
            self.exit(proc, signal=KILL)
            return
        finally:
            self.in_supervisor, self.current = inside, before
        if said == IDLE:
            proc.idle = True
        elif isinstance(said, float):
            proc.wakes_at = self.mono + said

    def strangers(self) -> list[Proc]:
        return [proc for proc in self.everybody if proc.kind == "stranger"]

    def of_ours(self) -> list[Proc]:
        """What was started for a job or a check, and lives."""
        ours = ("delegate", "child", "shim", "keeper", "check", "holder")
        return [proc for proc in self.table.values() if proc.kind in ours and proc.there]

    # --- system calls

    def change(self, path: object, *, makes: bool = True) -> None:
        """A system call that changes a file is about to be made: it may fail, and may be the last."""
        if isinstance(path, str | bytes | os.PathLike) and not os.fsdecode(path).startswith(self.root):
            return
        if self.in_supervisor:
            self.calls += 1
            if self.dead:
                raise Killed
            if self.last_call is not None:
                self.last_call -= 1
                if self.last_call <= 0:
                    self.last_call = None
                    self.dead = True
                    raise Killed
            if self.failing_call is not None and makes:
                self.failing_call -= 1
                if self.failing_call <= 0:
                    self.failing_call = None
                    raise no_room(path)
        elif self.current is not None and self.current.last_call is not None:
            self.current.last_call -= 1
            if self.current.last_call <= 0:
                self.current.last_call = None
                raise Killed
        if self.full and makes:
            raise no_room(path)

    def opening(self, path: object) -> None:
        if self.in_supervisor and self.no_files and os.fsdecode(path).startswith(self.root):  # type: ignore[arg-type]
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)


def no_room(path: object) -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path if isinstance(path, str | bytes) else None)
