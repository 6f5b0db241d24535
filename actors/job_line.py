"""The jobs that wait for their turn, and what their turns depend on, read from the store when it may have changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ..messages.facts import Fact, JobRemoved, QueuePaused, QueueResumed
from ..messages.job import JobId, JobRecord
from ..messages.session import SessionRemoved
from ..messages.vocabulary import JobState
from ..state.home import Home
from ..state.queue import Queue, Turn, Waiting, ready
from ..state.queue_reader import paused
from ..state.store import Reader

FRESH_S = 2.0
"""How long what was read of pauses is believed: another process may set one."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Gateway → Jobs: pause, or resume. Answered ``True`` once journalled."""

    facts: tuple[QueuePaused | QueueResumed, ...]


@dataclass(frozen=True, slots=True)
class Remove:
    """Gateway → Jobs: nothing of these is to be kept. Answered ``True`` once that is journalled, or refused."""

    jobs: tuple[JobId, ...]
    sessions: tuple[JobId, ...] = ()

    def facts(self) -> list[Fact]:
        """Return what is to be journalled."""
        sessions = [SessionRemoved(session_id=session_id) for session_id in self.sessions]
        return [*(JobRemoved(job_id=job_id) for job_id in self.jobs), *sessions]


NOTHING = Remove(())


class JobLine:
    """A queue with its facts at hand. For one actor."""

    def __init__(self, home: Home, fits: Callable[[Waiting], bool] | None = None) -> None:
        self._database = home.database
        self._fits = fits
        self._queue = Queue()
        self._ends: dict[str, JobState | None] = {}
        self._paused: frozenset[str] = frozenset()
        self._read_at: float | None = None
        """When the pauses were read (monotonic seconds); None: not yet, or they changed since."""

    def __contains__(self, job_id: object) -> bool:
        """Whether this job waits here."""
        return job_id in self._queue

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._queue)

    def admits(self, record: JobRecord) -> bool:
        """Whether a new job need not wait for anything but a slot. Whoever waits here and could run, runs already."""
        job = waiting(record)
        self._read(set(job.after))
        return not job.paused(self._scopes()) and ready(job, self._ends) and (self._fits is None or self._fits(job))

    def add(self, record: JobRecord) -> None:
        """Let a job wait."""
        self._queue.add(waiting(record))
        self._read(set(record.after))

    def remove(self, job_id: str) -> bool:
        """Take a job out; False when it is not here."""
        return self._queue.remove(job_id)

    def ended(self) -> None:
        """Look anew at what is waited for: a job ended."""
        self._ends.clear()

    def stale(self) -> None:
        """Look anew at everything: a pause changed, or another process may have done something."""
        self._ends.clear()
        self._read_at = None

    def turn(self) -> Turn:
        """Return which job runs next, and which never will."""
        if not len(self._queue):
            return Turn()
        self._read(self._queue.waited_for())
        return self._queue.turn(self._ends, self._scopes(), self._fits)

    @property
    def looks(self) -> bool:
        """Whether somebody waits for what another process may decide: a job that it looks after, a pause."""
        return len(self._queue) > 0 and bool(self._scopes() or self._queue.waited_for())

    def _scopes(self) -> frozenset[str]:
        if self._read_at is None or time.monotonic() - self._read_at > FRESH_S:
            self._read_at = time.monotonic()
            with Reader(self._database) as reader:
                self._paused = paused(reader)
        return self._paused

    def _read(self, earlier: set[str]) -> None:
        """Look at jobs that are waited for, except those that are known to have ended."""
        unknown = [job_id for job_id in earlier if not _is_over(self._ends.get(job_id))]
        if not unknown:
            return
        with Reader(self._database) as reader:
            for job_id in unknown:
                record = reader.record(job_id)
                self._ends[job_id] = None if record is None else _state(record.get("state"))


def waiting(record: JobRecord) -> Waiting:
    """Return a job as the queue sees it."""
    return Waiting(job_id=record.job_id, priority=record.priority, after=tuple(record.after), group_id=record.group_id)


def _is_over(state: JobState | None) -> bool:
    return state is not None and state.terminal


def _state(word: object) -> JobState | None:
    try:
        return JobState(str(word))
    except ValueError:
        return None
