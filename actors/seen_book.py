"""Which running jobs nobody has looked at, and since when: for one line at the end of any later command.

Looking is asking the supervisor about a job: ``status``, ``watch``, ``wait``, ``logs``, ``result``, ``rundown`` ... The
list stands in a small file that is written in place, so that a command that only has to read it pays next to nothing.
It is a hint: torn or stale, it is ignored.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..state.files import open_regular
from ..state.identity import identify

FILE = "unwatched.json"
STEP_S = 0.5
"""A look this soon after another changes nothing that anybody would notice."""
MOST = 50


class SeenBook:
    """See the module. May be used from any thread."""

    def __init__(self, root: Path) -> None:
        self._path = root / FILE
        self._lock = threading.Lock()
        self._jobs: dict[str, tuple[str, float]] = {}
        """Job that runs → its label and when somebody last looked (epoch seconds)."""
        self._written: list[Any] | None = None

    def running(self, jobs: Mapping[str, tuple[str, float]], now: float) -> None:
        """Take over which jobs run: their labels, and when each began."""
        with self._lock:
            self._jobs = {
                job_id: (label, max(since, self._jobs[job_id][1]) if job_id in self._jobs else since)
                for job_id, (label, since) in jobs.items()
            }
            self._write(now)

    def looked(self, job_ids: Iterable[str], now: float) -> None:
        """Somebody looked at these."""
        with self._lock:
            seen = [job_id for job_id in job_ids if job_id in self._jobs]
            old = [job_id for job_id in seen if now - self._jobs[job_id][1] >= STEP_S]
            for job_id in old:
                self._jobs[job_id] = (self._jobs[job_id][0], now)
            if old:
                self._write(now)

    def looked_at_all(self, now: float) -> None:
        """Somebody looked at everything."""
        with self._lock:
            every = list(self._jobs)
        self.looked(every, now)

    def close(self) -> None:
        """Say nothing of anybody any more: this supervisor leaves."""
        self.running({}, 0.0)

    def _write(self, now: float) -> None:
        """Write what is so, if that changed. A disk that says no costs the hint, nothing else."""
        listed = sorted((since, job_id, label) for job_id, (label, since) in self._jobs.items())[:MOST]
        told = [{"job_id": job_id, "label": label, "since": since} for since, job_id, label in listed]
        if told == (self._written or []):
            return
        with contextlib.suppress(OSError):
            descriptor = open_regular(self._path, os.O_WRONLY | os.O_CREAT)
            try:
                data = json.dumps({"at": now, "by": identify(os.getpid()), "jobs": told}).encode() if told else b""
                os.write(descriptor, data)  # from its beginning: it was opened just now
                os.ftruncate(descriptor, len(data))
            finally:
                os.close(descriptor)
            self._written = told
