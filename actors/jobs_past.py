"""The half of Jobs that deals with jobs that are over: judged again where an exit comes to light, removed once old.

And what both halves stand on: how they journal, and how they read a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..messages.facts import Fact, JobEnded
from ..messages.job import JobId, JobRecord
from ..messages.refusals import RefusalCode, Refused
from ..state.attempts import discard_stage
from ..state.errors import StateError
from ..state.job_folder import EXIT, LAUNCH, JobFolder
from ..state.job_machine import REVOCABLE
from ..state.store import Reader
from .base import Query, ReplyPort, log
from .cleaning import remove_folders, tidy
from .job_line import NOTHING, Remove
from .jobs_asked import Cancel, SubmitGroup
from .journal_writer import RESTARTING, JournalWriter
from .late_exit import look_again, may_be_revised
from .services import Services
from .supervisor import Supervisor
from .tree import in_background

LOST = 100
"""How many of the newest jobs of each revocable state are looked at again at the start."""
SWEEP_S = 6 * 3600.0
"""How often finished jobs that are old are looked for."""


@dataclass(frozen=True, slots=True)
class SweepDue:
    """It is time to look for what is old."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What is old, without its work trees now."""

    old: Remove = NOTHING


@dataclass(frozen=True, slots=True)
class LookedAgain:
    """What a second look at an ended job found."""

    fact: JobEnded | None


@dataclass(slots=True)
class Pending:
    """What is done when an append is committed."""

    port: ReplyPort | None
    record: JobRecord | None = None
    slot: bool = False
    group: SubmitGroup | None = None
    cancel: Cancel | None = None
    revised: JobId | None = None
    ended: JobId | None = None
    line: bool = False
    """Whether it changes whose turn it is."""
    removed: Remove | None = None


class PastJobs(Supervisor):
    """See the module. The attributes are those of ``Jobs``."""

    services: Services
    _writer: JournalWriter[Pending]
    _unseen: set[str]

    # --- put away

    def _end(self, ended: JobEnded) -> None:
        """Journal the end of a job that has no actor."""
        self._append([ended], Pending(port=None, ended=ended.job_id))

    def _put_away(self, job_id: str) -> None:
        """Let the folder know of the end: a store rebuilt from it must not start the job, nor may a launch be left."""
        record = self._record(job_id)
        if record is not None:
            self._keep_meta(record)
        folder = JobFolder(self.services.home.job_dir(job_id))
        folder.empty(LAUNCH)
        discard_stage(folder)
        self.services.requests.drop(job_id)
        self.services.live_figures.drop(job_id)
        self.services.budgets.drop(job_id)

    # --- judged again

    def _lost(self) -> list[JobRecord]:
        """Return the newest ended jobs whose verdict rests on a lost exit."""
        with Reader(self.services.home.database) as reader:
            rows = [row for state in sorted(REVOCABLE) for row in reader.jobs(state.value, LOST)[0]]
        lost = [row for row in rows if (row.get("exit_status") or {}).get("lost")]
        return [JobRecord.model_validate(row) for row in lost]

    def _look_again(self, record: JobRecord | None) -> None:
        """Judge an ended job anew, in the background, if an exit that was lost may have come to light."""
        lane = self.services.lane(record.lane) if record is not None and may_be_revised(record) else None
        if record is None or lane is None:
            return
        ended, folder = record, JobFolder(self.services.home.job_dir(record.job_id))
        if not folder.file(EXIT).exists():
            return
        in_background(
            f"again:{record.job_id}",
            self.handle,
            lambda: LookedAgain(look_again(ended, lane, folder)),
            otherwise=LookedAgain(None),
        )

    # --- removed

    def _remove(self, remove: Remove) -> None:
        live = [job_id for job_id in remove.jobs if self._is_live(job_id)]
        port = self._port()
        if live and port is not None:
            message = f"{live[0]} has not ended"
            port.set(Refused(code=RefusalCode.NOT_FINISHED, message=message, hint=f"osrc cancel {live[0]}"))
            return
        self._unseen.difference_update(remove.jobs)
        self._append(remove.facts(), Pending(port=port, line=True), may_wait=False)

    def _sweep(self) -> None:
        """Let what is old go, in the background, now and again every few hours."""
        if not self.services.attached and not self.services.stopping.is_set():
            in_background("gc", self.handle, lambda: Swept(tidy(self.services)), otherwise=Swept())
            self.services.clock.later(SWEEP_S, self.handle, SweepDue())

    def _is_live(self, job_id: str) -> bool:
        """Whether a job has not ended. One that has may still have an actor that is about to leave."""
        record = self._record(job_id)
        return record is not None and not record.state.terminal

    def _swept(self, old: Remove) -> None:
        old = Remove(tuple(job_id for job_id in old.jobs if not self._is_live(job_id)), old.sessions)
        if old.jobs or old.sessions:
            log.info("gc: %d jobs and %d sessions are older than job_ttl_days", len(old.jobs), len(old.sessions))
            self._unseen.difference_update(old.jobs)
            self._append(old.facts(), Pending(port=None, removed=old))

    def _remove_folders(self, removed: Remove) -> None:
        def work() -> Swept:
            remove_folders(self.services, removed)
            return Swept()

        in_background("gc", self.handle, work, otherwise=Swept())

    # --- journalling

    def _port(self) -> ReplyPort | None:
        return self.query.port if isinstance(self.query, Query) else None

    def _record(self, job_id: str) -> JobRecord | None:
        with Reader(self.services.home.database) as reader:
            found = reader.record(job_id)
        return JobRecord.model_validate(found) if found is not None else None

    def _append(self, facts: Sequence[Fact], pending: Pending | None = None, *, may_wait: bool = True) -> None:
        told = self._writer.append(facts, pending, may_wait=may_wait)
        if not told and pending is not None and pending.port is not None:
            pending.port.set(RESTARTING)

    def _keep_meta(self, record: JobRecord) -> None:
        try:
            JobFolder(self.services.home.job_dir(record.job_id)).write_meta(record)
        except StateError as error:
            log.warning("%s: %s", record.job_id, error)
