"""The jobs that have no slot: in the line, until a limit has ended, or until it is their turn in their group."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..messages.job import JobId, JobRecord
from .base import Actor
from .job_line import JobLine
from .services import Services

WAKE_LOOK_S = 60.0
"""How often it is looked whether the time of a job that waits for a limit has come."""
LINE_LOOK_S = 2.0
"""How often it is looked whether a job that waits may start by what another process did, or has room now."""


@dataclass(frozen=True, slots=True)
class WakeDue:
    """It is time to look whether a job's limit has ended."""

    job_id: JobId


@dataclass(frozen=True, slots=True)
class LineDue:
    """It is time to look at the line again."""


class WaitingJobs:
    """See the module. For one actor, which is told ``WakeDue`` and ``LineDue``."""

    def __init__(self, actor: Actor, services: Services, record_of: Callable[[str], JobRecord | None]) -> None:
        self._actor = actor
        self._services = services
        self._record_of = record_of
        self.line = JobLine(services.home)
        self._held: dict[str, float] = {}
        """Job → epoch seconds until which it waits for a limit to end."""
        self._parked: dict[str, float | None] = {}
        """Jobs that wait for their turn in their group; with what ``_held`` says where they wait for a limit too."""
        self._looking = False
        """Whether the line is looked at again in a while."""

    def __contains__(self, job_id: object) -> bool:
        """Whether this job waits, for whatever reason. One that waits for a limit may still have an actor."""
        return job_id in self.line or job_id in self._held or job_id in self._parked

    def is_held(self, job_id: str) -> bool:
        """Whether this job waits for a limit."""
        return job_id in self._held

    def remove(self, job_id: str) -> None:
        """Let a job wait for nothing any more."""
        self.line.remove(job_id)
        self._held.pop(job_id, None)
        self._parked.pop(job_id, None)

    def park(self, records: Iterable[JobRecord]) -> None:
        """Let jobs wait for their turn in their group."""
        self._parked |= {record.job_id: record.wake_at for record in records}

    def release(self, job_id: str) -> None:
        """Let a member of a group have its turn. One that was ended meanwhile, or had its turn, is no member here."""
        if job_id not in self._parked:
            return
        wake_at = self._parked.pop(job_id)
        record = self._record_of(job_id)
        if record is None or record.state.terminal:
            return
        if wake_at is not None:
            self.hold(job_id, wake_at)
        else:
            self.line.add(record)

    def hold(self, job_id: str, until: float) -> None:
        """Look again at its time, and now and then before: clocks are set, and machines sleep."""
        self._held[job_id] = until
        wait_s = min(max(0.0, until - self._services.clock.now().wall), WAKE_LOOK_S)
        self._services.clock.later(wait_s, self._actor.handle, WakeDue(job_id))

    def wake(self, job_id: str) -> bool:
        """Let a job stand in the line if its limit has ended; return whether it waits for that no more."""
        until = self._held.get(job_id)
        if until is None or self._services.stopping.is_set():
            return False
        if self._services.clock.now().wall < until:
            self.hold(job_id, until)
            return False
        del self._held[job_id]
        record = self._record_of(job_id)
        if record is not None:
            self.line.add(record)
        return True

    def look_later(self, *, short: bool) -> None:
        """Have the line looked at in a while where that may change something; ``short``: there was no room."""
        if (short or self.line.looks) and not self._looking:
            self._looking = True
            self._services.clock.later(LINE_LOOK_S, self._actor.handle, LineDue())

    def look(self) -> None:
        """Believe nothing of what was read for the line before."""
        self._looking = False
        self.line.stale()
