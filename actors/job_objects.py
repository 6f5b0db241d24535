"""Windows' job objects: a delegate and all it starts, held together by name, whoever their parents are.

A process that is put into a job object stays in it, and so does whatever it starts; the object can be asked for its
members, and ended whole. On POSIX sessions, process groups and a subreaper do this.
"""

from __future__ import annotations

import ctypes
import errno
import sys
from typing import Any

PREFIX = "Local\\outsourcerer-"
QUERY = 0x4
PROCESS_TERMINATE, PROCESS_SET_QUOTA = 0x1, 0x100
KILL_ON_CLOSE, BREAKAWAY_OK = 0x2000, 0x800
PROCESS_IDS, EXTENDED_LIMITS = 3, 9
"""Classes of what is asked and set (``JOBOBJECTINFOCLASS``)."""
MORE_DATA = 234
MOST_PIDS = 1 << 16
ENDED = 1
"""Exit code of what is ended by us."""


class BasicLimits(ctypes.Structure):
    """``JOBOBJECT_BASIC_LIMIT_INFORMATION``."""

    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("least_set", ctypes.c_size_t),
        ("most_set", ctypes.c_size_t),
        ("most_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
    )


class ExtendedLimits(ctypes.Structure):
    """``JOBOBJECT_EXTENDED_LIMIT_INFORMATION``: 144 bytes where pointers have 64 bits."""

    _fields_ = (
        ("basic", BasicLimits),
        ("counters", ctypes.c_uint64 * 6),
        ("memory", ctypes.c_size_t * 4),
    )


def pid_list(room: int) -> type[ctypes.Structure]:
    """Return ``JOBOBJECT_BASIC_PROCESS_ID_LIST`` with room for so many."""
    fields = (("assigned", ctypes.c_uint32), ("listed", ctypes.c_uint32), ("pids", ctypes.c_size_t * room))
    return type("PidList", (ctypes.Structure,), {"_fields_": fields})


class JobObject:
    """One job object. Every method raises OSError where the system refuses."""

    def __init__(self, kernel: Any, handle: int) -> None:  # noqa: ANN401  ctypes knows no types
        """Be the object behind ``handle``."""
        self._kernel = kernel
        self._handle = ctypes.c_void_p(handle)

    def add(self, pid: int) -> None:
        """Put a process into it."""
        access = PROCESS_SET_QUOTA | PROCESS_TERMINATE
        process = ctypes.c_void_p(self._sure(self._kernel.OpenProcess(access, 0, pid), f"open process {pid}"))
        try:
            self._sure(self._kernel.AssignProcessToJobObject(self._handle, process), f"put {pid} into a job object")
        finally:
            self._kernel.CloseHandle(process)

    def end_with_us(self, wanted: bool, *, may_leave: bool = False) -> None:
        """Say whether its members end when nobody has it open any more, as when we are killed.

        ``may_leave``: one that a member starts may stay out of it, where that is asked for as it is started.
        """
        limits = ExtendedLimits()
        limits.basic.flags = (KILL_ON_CLOSE if wanted else 0) | (BREAKAWAY_OK if may_leave else 0)
        done = self._kernel.SetInformationJobObject(
            self._handle, EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
        )
        self._sure(done, "set a job object's limits")

    def pids(self) -> list[int]:
        """Return the pids of its members."""
        room = 64
        while True:
            found: Any = pid_list(room)()
            done = self._kernel.QueryInformationJobObject(
                self._handle, PROCESS_IDS, ctypes.byref(found), ctypes.sizeof(found), None
            )
            if done:
                return list(found.pids[: found.listed])
            if self._kernel.GetLastError() != MORE_DATA or room >= MOST_PIDS:
                self._sure(0, "list a job object's processes")
            room *= 4

    def end(self) -> None:
        """End every member at once."""
        self._sure(self._kernel.TerminateJobObject(self._handle, ENDED), "end a job object")

    def close(self) -> None:
        """Let go of it."""
        self._kernel.CloseHandle(self._handle)

    def _sure(self, result: int, what: str) -> int:
        return _sure(self._kernel, result, what)


def create(kernel: Any, job_id: str) -> JobObject:  # noqa: ANN401  as above
    """Return the job object of a job, made if it is not there. Raises OSError."""
    return JobObject(kernel, _sure(kernel, kernel.CreateJobObjectW(None, PREFIX + job_id), "make a job object"))


def members(job_id: str, kernel: Any = None) -> list[int]:  # noqa: ANN401  as above
    """Return the pids in a job's job object; none where there is no such object, or where there are no such things.

    Its name is known for as long as its shim lives.
    """
    kernel = kernel or system()
    handle = kernel.OpenJobObjectW(QUERY, 0, PREFIX + job_id) if kernel is not None else 0
    if not handle:
        return []
    found = JobObject(kernel, handle)
    try:
        return found.pids()
    except OSError:
        return []
    finally:
        found.close()


def system() -> Any:  # noqa: ANN401  as above
    """Return the functions of ``kernel32``, or None where this is not Windows."""
    if sys.platform != "win32" or not hasattr(ctypes, "WinDLL"):
        return None
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.GetLastError = ctypes.get_last_error  # its own has been changed by whatever Python did since
    handle, number = ctypes.c_void_p, ctypes.c_uint32
    for name, result, given in (
        ("CreateJobObjectW", handle, (handle, ctypes.c_wchar_p)),
        ("OpenJobObjectW", handle, (number, ctypes.c_int, ctypes.c_wchar_p)),
        ("OpenProcess", handle, (number, ctypes.c_int, number)),
        ("AssignProcessToJobObject", ctypes.c_int, (handle, handle)),
        ("SetInformationJobObject", ctypes.c_int, (handle, ctypes.c_int, handle, number)),
        ("QueryInformationJobObject", ctypes.c_int, (handle, ctypes.c_int, handle, number, handle)),
        ("TerminateJobObject", ctypes.c_int, (handle, number)),
        ("CloseHandle", ctypes.c_int, (handle,)),
    ):
        function = getattr(kernel, name)
        function.restype, function.argtypes = result, given
    return kernel


def resume(pid: int) -> None:
    """Let a suspended process go on. Raises OSError."""
    import psutil  # noqa: PLC0415  Windows only

    try:
        psutil.Process(pid).resume()
    except psutil.Error as error:
        raise OSError(errno.ESRCH, f"the delegate can't be let go: {error}") from None


def _sure(kernel: Any, result: int | None, what: str) -> int:  # noqa: ANN401  as above
    if not result:
        raise OSError(kernel.GetLastError(), f"Windows would not {what}")
    return result
