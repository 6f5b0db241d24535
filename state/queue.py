"""Which job runs next: a pure decision over what waits, what is paused, and how earlier jobs ended.

    queue = Queue()
    queue.add(Waiting(job_id=..., after=(...)))
    queue.turn(ends, paused)         # Turn: the one that runs, and those that never will

The greater priority runs first, then who came first. A job with ``after`` waits until every one of those jobs is
done; when one ends otherwise the job is skipped, and so is what comes after it in turn.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from ..messages.vocabulary import JobState

EVERYTHING = "all"
"""The scope of a pause that holds the whole queue."""
GOOD = frozenset({JobState.DONE, JobState.DONE_UNVERIFIED})
"""Ends after which the next job may run."""


def of_job(job_id: str) -> str:
    """Return the scope of a pause that holds one job."""
    return f"job:{job_id}"


def of_group(group_id: str) -> str:
    """Return the scope of a pause that holds a group, members that are still to come included."""
    return f"group:{group_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A job in the queue."""

    job_id: str
    priority: int = 0
    after: tuple[str, ...] = ()
    group_id: str | None = None

    def paused(self, scopes: AbstractSet[str]) -> bool:
        """Whether one of these pauses holds it."""
        if not scopes:
            return False
        own = {EVERYTHING, of_job(self.job_id)} | ({of_group(self.group_id)} if self.group_id else set())
        return not own.isdisjoint(scopes)


@dataclass(frozen=True, slots=True)
class Turn:
    """What is to be done now."""

    run: Waiting | None = None
    skip: tuple[tuple[Waiting, str], ...] = ()
    """Jobs that will never run, each with the reason."""


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    rank: int
    number: int
    job: Waiting = field(compare=False)


class Queue:
    """Jobs that wait, in the order in which they would run."""

    def __init__(self) -> None:
        self._places: list[_Place] = []
        self._ids: set[str] = set()
        self._added = 0

    def __contains__(self, job_id: object) -> bool:
        """Whether this job waits here."""
        return job_id in self._ids

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._places)

    def add(self, job: Waiting) -> None:
        """Put a job behind those of its own priority; one that is here already stays where it is."""
        if job.job_id not in self._ids:
            self._added += 1
            self._ids.add(job.job_id)
            insort(self._places, _Place(-job.priority, self._added, job))

    def remove(self, job_id: str) -> bool:
        """Take a job out; False when it is not here."""
        if job_id not in self._ids:
            return False
        self._ids.discard(job_id)
        self._places = [place for place in self._places if place.job.job_id != job_id]
        return True

    def waited_for(self) -> set[str]:
        """Return the jobs that others here come after."""
        return {earlier for place in self._places for earlier in place.job.after}

    def turn(
        self,
        ends: Mapping[str, JobState | None],
        paused: AbstractSet[str],
        fits: Callable[[Waiting], bool] | None = None,
    ) -> Turn:
        """Return which job runs next. Takes nothing out.

        ``ends`` has the state of every job that is waited for; None, or a job that is not in it, is one that is not
        known any more. ``fits`` says whether there is room for a job; without it there is.
        """
        skip = tuple(
            (place.job, reason) for place in self._places if place.job.after and (reason := hopeless(place.job, ends))
        )
        lost = {job.job_id for job, _ in skip}
        for place in self._places:
            job = place.job
            if job.job_id in lost or job.paused(paused) or not ready(job, ends):
                continue
            if fits is None or fits(job):
                return Turn(job, skip)
        return Turn(None, skip)


def ready(job: Waiting, ends: Mapping[str, JobState | None]) -> bool:
    """Whether every job that it comes after is done."""
    return all(ends.get(earlier) in GOOD for earlier in job.after)


def hopeless(job: Waiting, ends: Mapping[str, JobState | None]) -> str | None:
    """Return why a job will never run; None while it may."""
    for earlier in job.after:
        state = ends.get(earlier)
        if state is None:
            return f"skipped: it comes after {earlier}, of which nothing is known any more"
        if state.terminal and state not in GOOD:
            return f"skipped: it comes after {earlier}, which ended {state.value}"
    return None
