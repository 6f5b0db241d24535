"""Which finished jobs an automatic clean-up takes away: pure, by age and by size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A job that has ended."""

    job_id: str
    ended: float
    """Epoch seconds."""
    size: int = 0
    """Bytes of its folder and its work tree."""
    kept: str | None = None
    """Why it must stay; None when nothing would be lost with it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What goes, oldest first, and what should go but stays."""

    go: tuple[Finished, ...]
    stay: tuple[Finished, ...]


def choose(
    jobs: Sequence[Finished], *, now: float, older_than_s: float, most_bytes: int | None = None, most: int | None = None
) -> Choice:
    """Return which jobs go: those older than ``older_than_s``, and then the oldest until the rest fits ``most_bytes``.

    At most ``most`` go. A job that must stay stays, and what it takes counts.
    """
    aged = sorted(jobs, key=lambda job: (job.ended, job.job_id))
    left = sum(job.size for job in aged)
    go: list[Finished] = []
    stay: list[Finished] = []
    for job in aged:
        large = most_bytes is not None and left > most_bytes
        if not large and now - job.ended < older_than_s:
            continue
        if job.kept is not None:
            stay.append(job)
        elif most is None or len(go) < most:
            go.append(job)
            left -= job.size
    return Choice(tuple(go), tuple(stay))
