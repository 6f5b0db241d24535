"""What Jobs is asked: by the gateway's threads, each answered once it is journalled."""

from __future__ import annotations

from dataclasses import dataclass

from ..messages.facts import JobOutcome
from ..messages.group import GroupRecord
from ..messages.history import HistoryImported
from ..messages.job import JobId, JobRecord


@dataclass(frozen=True, slots=True)
class Submit:
    """Gateway → Jobs: this job's folder is ready. Answered ``True`` once journalled, or refused."""

    record: JobRecord


@dataclass(frozen=True, slots=True)
class SubmitGroup:
    """Gateway → Jobs: the folders of these members are ready. Answered ``True`` once all is journalled, or refused."""

    group: GroupRecord
    records: tuple[JobRecord, ...]


@dataclass(frozen=True, slots=True)
class Cancel:
    """Gateway → Jobs: end these jobs. Answered ``True`` once that is journalled."""

    jobs: tuple[JobId, ...]
    at_once: bool
    group_id: str | None = None
    """The group whose members they are, where all of it is to end."""


@dataclass(frozen=True, slots=True)
class Note:
    """Gateway → Jobs: journal this of an ended job, or of runs of another tool.

    Answered ``True`` once it is on disk, or refused.
    """

    fact: JobOutcome | HistoryImported


@dataclass(frozen=True, slots=True)
class Adopt:
    """Gateway → Jobs: this live job's own command is gone; look after it."""

    job_id: JobId
