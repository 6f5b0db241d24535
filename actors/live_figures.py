"""What is happening right now, for people who look: the newest live figures of each running job.

Written by the jobs' actors, read by gateway threads; nothing here is a decision, so nothing is lost
when the process dies.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any


class LiveFigures:
    """Job id → live figures."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: dict[str, Mapping[str, Any]] = {}

    def put(self, job_id: str, figures: Mapping[str, Any]) -> None:
        """Replace a job's figures; the mapping must not be changed afterwards."""
        with self._lock:
            self._live[job_id] = figures

    def drop(self, job_id: str) -> None:
        """Forget a job that has ended."""
        with self._lock:
            self._live.pop(job_id, None)

    def get(self, job_id: str) -> Mapping[str, Any] | None:
        """Return a job's figures."""
        with self._lock:
            return self._live.get(job_id)
