"""The functions of Windows' ``kernel32`` that job objects need, as its documentation describes them, over plain sets."""

# ruff: noqa: N802 - the names are those of Windows

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from outsourcerer.actors import job_objects
from outsourcerer.actors.job_objects import ExtendedLimits, pid_list

REFUSED, INVALID = 5, 6


@dataclass
class Job:
    name: str
    members: set[int] = field(default_factory=set)
    kill_on_close: bool = False


class FakeKernel:
    """Handles, named job objects, and which processes there are."""

    def __init__(self) -> None:
        self.alive: set[int] = set()
        self.called: list[str] = []
        self.refused = ""
        self._jobs: dict[str, Job] = {}
        self._handles: dict[int, Job | int] = {}
        self._next = 100
        self._error = 0

    # --- for tests

    def open_handles(self) -> int:
        return len(self._handles)

    def ends_with_us(self, name: str) -> bool:
        return self._jobs[name].kill_on_close

    def join(self, name: str, pid: int) -> None:
        """A member started another process."""
        self._jobs[name].members.add(pid)

    # --- kernel32

    def GetLastError(self) -> int:
        return self._error

    def CreateJobObjectW(self, _security: None, name: str) -> int:
        if self._refuses("CreateJobObjectW"):
            return 0
        return self._handle(self._jobs.setdefault(name, Job(name)))

    def OpenJobObjectW(self, access: int, _inherit: int, name: str) -> int:
        assert access == job_objects.QUERY
        return self._handle(self._jobs[name]) if name in self._jobs else 0

    def OpenProcess(self, access: int, _inherit: int, pid: int) -> int:
        assert access == job_objects.PROCESS_SET_QUOTA | job_objects.PROCESS_TERMINATE
        if self._refuses("OpenProcess") or pid not in self.alive:
            return 0
        return self._handle(pid)

    def AssignProcessToJobObject(self, job: ctypes.c_void_p, process: ctypes.c_void_p) -> int:
        if self._refuses("AssignProcessToJobObject"):
            return 0
        pid = self._handles[process.value]
        assert isinstance(pid, int)
        self._job(job).members.add(pid)
        return 1

    def SetInformationJobObject(self, job: ctypes.c_void_p, kind: int, given: Any, size: int) -> int:
        if self._refuses("SetInformationJobObject"):
            return 0
        assert (kind, size) == (job_objects.EXTENDED_LIMITS, ctypes.sizeof(ExtendedLimits))
        limits = ctypes.cast(given, ctypes.POINTER(ExtendedLimits)).contents
        self._job(job).kill_on_close = bool(limits.basic.flags & job_objects.KILL_ON_CLOSE)
        return 1

    def QueryInformationJobObject(self, job: ctypes.c_void_p, kind: int, into: Any, size: int, _: None) -> int:
        if self._refuses("QueryInformationJobObject"):
            return 0
        assert kind == job_objects.PROCESS_IDS
        pids = sorted(self._job(job).members & self.alive)
        room = (size - ctypes.sizeof(pid_list(0))) // ctypes.sizeof(ctypes.c_size_t)
        found = ctypes.cast(into, ctypes.POINTER(pid_list(room))).contents
        found.assigned, found.listed = len(pids), min(room, len(pids))
        found.pids[: found.listed] = pids[:room]
        self._error = job_objects.MORE_DATA if len(pids) > room else 0
        return int(len(pids) <= room)

    def TerminateJobObject(self, job: ctypes.c_void_p, code: int) -> int:
        assert code == job_objects.ENDED
        if self._refuses("TerminateJobObject"):
            return 0
        self.alive -= self._job(job).members
        return 1

    def CloseHandle(self, handle: ctypes.c_void_p) -> int:
        closed = self._handles.pop(handle.value)
        if isinstance(closed, Job) and closed not in self._handles.values():
            if closed.kill_on_close:
                self.alive -= closed.members
            del self._jobs[closed.name]
        return 1

    def _refuses(self, name: str) -> bool:
        self.called.append(name)
        self._error = REFUSED
        return name == self.refused

    def _handle(self, what: Job | int) -> int:
        self._next += 4
        self._handles[self._next] = what
        return self._next

    def _job(self, handle: ctypes.c_void_p) -> Job:
        job = self._handles[handle.value]
        assert isinstance(job, Job)
        return job
