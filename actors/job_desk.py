"""One job as it is asked for, by a client or by an actor of ours: decided, passed by the gate, created, journalled.

Runs in a thread that may block.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..messages.job import JobRequest
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import Accepted, Plan, Reply
from ..state.ids import is_job_id
from ..state.job_folder import JobFolder
from ..state.store import Reader
from .attempt import keep_promise
from .base import ask
from .budget_book import Weigh
from .in_flight import Flight, Flights, is_unknown
from .intake import Draft, preview
from .intake import draft as decide
from .job_writing import create, forget_spool, read_plan
from .jobs_asked import Submit
from .lane_book import LaneBook
from .leftovers import make_room
from .owners import own_identity
from .services import Services
from .session_desk import planned

ASK_S = 30.0
DRAFTS = 5
"""How often a job is planned anew when another took the last run of a quota from it."""


class JobDesk:
    """See the module."""

    def __init__(self, services: Services, book: LaneBook) -> None:
        self.services = services
        self._book = book
        self._flights = Flights(services.directory)

    def submit(self, request: JobRequest, *, dry_run: bool = False) -> Reply:
        """Take a job, or refuse it; with ``dry_run`` say what it would be. The same id twice makes one job."""
        if self.services.stopping.is_set():
            return Refused(code=RefusalCode.STOPPING, message="the supervisor is stopping", hint="try again")
        job_id = request.job_id
        if job_id is None or dry_run:
            return self._submit(request, Flight(), dry_run=dry_run)
        return self._flights.once(
            job_id,
            lambda: self._asked_before(request, job_id),
            lambda flight: (
                make_room(JobFolder(self.services.home.job_dir(job_id)), self.services) or self._submit(request, flight)
            ),
        )

    def _submit(self, request: JobRequest, flight: Flight, *, dry_run: bool = False) -> Reply:
        named = self.after_named(request)
        if isinstance(named, Refused):
            return named
        request = named
        if dry_run:
            return planned(self.preview(request))
        decided = self.draft(request)
        if isinstance(decided, Refused):
            return decided
        try:
            return self.full(decided) or self._take(decided, flight)
        finally:
            self.services.limits.give_back(decided.marker_id)  # from its commit on, the store counts the run
            self.services.budgets.drop(decided.marker_id)

    def preview(self, request: JobRequest, weigh: Weigh | None = None) -> Plan | Refused:
        """Return what a job would come to; jobs of one wave are weighed by one ``weigh``. Changes nothing."""
        services = self.services
        return preview(
            request,
            services.home,
            self._book.registry(),
            models=services.models,
            limits=services.limits,
            weigh=weigh or services.budgets.weighing(),
        )

    def draft(self, request: JobRequest) -> Draft | Refused:
        """Decide about a job and hold a run of its quotas for it. Others may take the last one."""
        limits = self.services.limits
        for _ in range(DRAFTS):
            decided = decide(
                request, self.services.home, self._book.registry(), models=self.services.models, limits=limits
            )
            if isinstance(decided, Refused) or decided.wake_at is not None:
                return decided
            if limits.take(decided.marker_id, decided.lane.name, decided.resolved.model) is None:
                return decided
        return Refused(code=RefusalCode.QUOTA_FULL, message="the last runs of today were taken", hint="osrc limits")

    def full(self, decided: Draft) -> Refused | None:
        """Refuse what the machine, the hour or the budget has no room for."""
        services = self.services
        full = services.admission.admit(decided.settings)
        name, model = decided.marker_id, decided.resolved.model
        return full or services.budgets.admit(name, decided.billing.kind, model, decided.prompt, decided.settings)

    def _take(self, decided: Draft, flight: Flight) -> Reply:
        """Create the job, and let it be journalled."""
        owner = own_identity(self.services)
        record, folder = create(decided, self.services.home, umask=self.services.umask, owner=owner)
        if decided.account is not None:
            self.services.accounts.keep(record.job_id, decided.account)
        self.services.requests.keep(record.job_id, decided.request.environment)
        self.services.heartbeat_watch.launched(decided.settings, decided.environment)  # before anything is told of it
        answer = ask(self.services.directory.find("jobs"), Submit(record), ASK_S, flight.port)
        if isinstance(answer, Refused):
            self.services.accounts.take(record.job_id)

            def undo() -> None:
                self.services.requests.drop(record.job_id)
                folder.remove()

            if is_unknown(answer):
                flight.undo, flight.taken = undo, lambda: self._is_job(record.job_id)
            else:
                undo()
            return answer
        self.services.budgets.rename(decided.marker_id, record.job_id)
        keep_promise(folder)
        return Accepted(job_id=record.job_id, plan=decided.plan)

    def _is_job(self, job_id: str) -> bool:
        with Reader(self.services.home.database) as reader:
            return reader.record(job_id) is not None

    def after_named(self, request: JobRequest) -> JobRequest | Refused:
        """Return the request with the ids of the jobs that it comes after."""
        if not request.after:
            return request
        with Reader(self.services.home.database) as reader:
            found = resolve(reader, request.after)
        if isinstance(found, Refused):
            return found
        return request.model_copy(update={"after": tuple(record["job_id"] for record in found)})

    def _asked_before(self, request: JobRequest, job_id: str) -> Reply | None:
        """Return the answer to a request that was taken already, though the client never heard of it."""
        home = self.services.home
        if not is_job_id(job_id):
            return Refused(code=RefusalCode.BAD_REQUEST, message="job_id is no job's id")
        if not home.job_dir(job_id).exists():
            return None
        with Reader(home.database) as reader:
            if reader.record(job_id) is None:
                return None  # begun, but promised to nobody
        plan = read_plan(home, job_id)
        if plan is None:
            return Refused(
                code=RefusalCode.STATE_DAMAGED,
                message=f"job {job_id} was taken, but its plan can't be read",
                hint=f"osrc status {job_id}",
            )
        forget_spool(request, home)
        return Accepted(job_id=job_id, plan=plan)


def resolve(reader: Reader, ids: Iterable[str]) -> list[dict[str, Any]] | Refused:
    """Return the record of the one job that each word means, or why a word means none."""
    records: list[dict[str, Any]] = []
    for word in ids:
        found = reader.resolve(word)
        if not found:
            return Refused(
                code=RefusalCode.NO_SUCH_JOB,
                message=f"there is no job {word!r}",
                hint="osrc status --all lists the jobs there are",
            )
        if len(found) > 1:
            some = ", ".join(record["job_id"] for record in found[:5])
            return Refused(
                code=RefusalCode.AMBIGUOUS_JOB,
                message=f"{word!r} could be any of {len(found)} jobs: {some}" + (" ..." if len(found) > 5 else ""),
                hint="give the id, or more of it",
            )
        records.append(found[0])
    return records
