"""Signals by name of purpose, on every system: a process of our records is signalled, and never its pid's next owner.

Windows has none. There asking is ending: a process that shares no console with us can't be asked.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Protocol

from ..state.identity import same_start
from ..state.processes import read_process

TERM: int = signal.SIGTERM
KILL: int = getattr(signal, "SIGKILL", signal.SIGTERM)
CONT: int = getattr(signal, "SIGCONT", 0)
"""0 where a stopped process is let go on in another way, or not at all."""


class Started(Protocol):
    """A process as a record or a look at the machine names it."""

    @property
    def pid(self) -> int:
        """Its pid."""

    @property
    def started(self) -> float:
        """When it began, as ``state.processes`` says it."""


def send(process: Started, number: int) -> None:
    """Signal this process and no other: one that is gone, or whose pid was reused, is left alone."""
    with contextlib.suppress(OSError):
        if not hasattr(os, "pidfd_open"):
            if _same(process):
                _kill(process.pid, number)
            return
        descriptor = os.pidfd_open(process.pid)
        try:
            if _same(process):  # the descriptor holds the process: what is read now is what is signalled
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def _same(process: Started) -> bool:
    now = read_process(process.pid)
    return now is not None and same_start(now.started, process.started)


def _kill(pid: int, number: int) -> None:
    if number:
        os.kill(pid, number)
        return
    import psutil  # noqa: PLC0415  only where there is no such signal

    with contextlib.suppress(psutil.Error, AttributeError):
        psutil.Process(pid).resume()
