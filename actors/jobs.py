"""All delegated jobs: acceptance, the queue and its slots, cancelling, adoption; supervisor of the job actors.

A job exists once its acceptance is journalled, not before. It has an actor only while it has, or gets,
a process: a queued one costs a line in a queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..messages.facts import (
    ChildCrashed,
    Fact,
    JobAccepted,
    JobCancelRequested,
    JobEnded,
    JobLaunching,
)
from ..messages.group import FanoutAccepted, FanoutCancelRequested
from ..messages.internal import CancelJob, CancelNoticed, FactsCommitted, FactsRefused, JobFinished
from ..messages.job import JobRecord
from ..messages.refusals import Refused
from ..messages.vocabulary import JobState
from ..state.job_folder import JobFolder
from ..state.restart_budget import RestartBudget
from ..state.store import Reader
from .attempt import keep_promise
from .base import NOT_DONE, Handle, Query, log, start
from .dequeue_check import DequeueCheck
from .group_names import GroupSeen, JobMoved, Release
from .job import Job
from .job_hop import Moved, Waits
from .job_line import Hold, Remove
from .jobs_asked import Adopt, Cancel, Note, Submit, SubmitGroup
from .jobs_past import LookedAgain, PastJobs, Pending, SweepDue, Swept
from .jobs_waiting import LineDue, WaitingJobs, WakeDue
from .journal_writer import JournalWriter
from .notices import Unclaimed, job_actor, pass_on_cancel
from .owners import is_ours, owned_elsewhere
from .services import Services
from .supervisor import ChildSpec, Restart, Strategy
from .transient_faults import TransientFaults
from .tree import end_tree, in_background

ANSWER_S = 10.0
"""How long a stop waits for commits that somebody waits for."""
CANCEL_S = 20.0
"""How long one job may take to end when the supervisor is stopped with ``cancel``."""


@dataclass(frozen=True, slots=True)
class _LeaveDue:
    pass


class Jobs(PastJobs):
    """See the module."""

    def __init__(self, *, services: Services, max_jobs: int, **common: Any) -> None:  # noqa: ANN401  the base class's
        super().__init__(
            clock=services.clock,
            strategy=Strategy.ONE_FOR_ONE,
            # Crashes of one job must not take the others along: a job is bounded by its own budget,
            # this number only stops a storm in which every job crashes.
            budget=RestartBudget(400, 60.0),
            faults=TransientFaults(),
            **common,
        )
        self.services = services
        self._most = max_jobs
        self._writer = JournalWriter(self, next(services.epochs))
        self._running: set[str] = set()
        self._dequeue_check = DequeueCheck(services)
        self._waiting = WaitingJobs(self, services, self._record)
        self._unseen: set[str] = set()
        """Jobs that ended without their exit status, until their actors are gone."""
        self._leaving: str | None = None
        self._moved: set[str] = set()
        """Jobs whose actor leaves for another attempt of theirs."""

    # --- start

    def started(self) -> None:
        """Adopt every live job that nobody else looks after."""
        super().started()
        for record in self._live():
            if owned_elsewhere(record.owner):
                log.info("%s is looked after by the command that started it", record.job_id)
            elif not self.services.attached or is_ours(record.owner) or self.services.lock.held:
                self._take(record)
        self._next()
        if self.services.lock.held:
            for record in self._lost():
                self._look_again(record)
            self._sweep()
        self.services.ready.set()

    def _live(self) -> list[JobRecord]:
        with Reader(self.services.home.database) as reader:
            return [JobRecord.model_validate(record) for record in reader.live()]

    def _take(self, record: JobRecord) -> None:
        job_id = record.job_id
        if job_id in self._running or job_id in self._waiting:
            return
        keep_promise(JobFolder(self.services.home.job_dir(job_id)))
        if record.parked and record.state is JobState.QUEUED and not record.cancel_requested:
            self._waiting.park((record,))
            self.services.directory.tell("crews", GroupSeen(record.group_id or ""))
            return
        if record.wake_at is not None:
            if record.cancel_requested:
                self._end(_ended(job_id, JobState.CANCELED, 130, "canceled on request", "canceled"))
            else:
                self._waiting.hold(job_id, record.wake_at)
            return
        if record.state is JobState.QUEUED and not record.cancel_requested:
            self._waiting.line.add(record)
        else:
            self._run(job_id, None)

    def stopping(self, reason: str) -> None:
        """Tell those who wait what became of their requests, then stop. Not where the journal is what failed."""
        if self.services.stopping.is_set() and self._asked():
            self._leaving = reason
            self.clock.later(ANSWER_S, self.handle, _LeaveDue())
            return
        super().stopping(reason)

    def _asked(self) -> bool:
        return any(pending.port is not None for pending in self._writer.waiting)

    def _leave_if_answered(self) -> None:
        if self._leaving is not None and not self._asked():
            self._leave()

    def _leave(self) -> None:
        if self._leaving is not None:
            reason, self._leaving = self._leaving, None
            super().stopping(reason)

    # --- messages

    def receive_own(self, message: object) -> None:  # noqa: C901, PLR0912, PLR0915  one flat match
        """One flat match over what Jobs can be told."""
        match message:
            case _ if self._leaving is not None and self.query is not None:
                self.reply(NOT_DONE)  # the next supervisor is asked; those who asked before are waited for
            case Submit(record=record):
                self._submit(record)
            case SubmitGroup():
                self._submit_group(message)
            case Release(job_ids=job_ids):
                for job_id in job_ids:
                    self._waiting.release(job_id)
                self._next()
            case Cancel():
                self._cancel(message)
            case Note(fact=fact):
                port = self.query.port if isinstance(self.query, Query) else None
                self._append([fact], Pending(port=port), may_wait=False)
            case Adopt(job_id=job_id):
                self._adopt(job_id)
            case Hold(facts=held):
                self._append(held, Pending(port=self._port(), line=True), may_wait=False)
            case Remove():
                self._remove(message)
            case CancelNoticed():
                self._cancel_noticed(message)
            case FactsCommitted(token=token):
                self._committed(token)
                self._leave_if_answered()
            case FactsRefused(token=token, refusal=refusal):
                self._refused(token, refusal)
                self._leave_if_answered()
            case _LeaveDue():
                self._leave()
            case SweepDue():
                self._sweep()
            case Swept(old=old):
                self._swept(old)
            case LineDue():
                self._waiting.look()
                self._next()
            case Moved(job_id=job_id):
                self._moved.add(job_id)
            case Waits(job_id=job_id, until=until):
                self._waiting.hold(job_id, until)
            case WakeDue(job_id=job_id):
                if self._waiting.wake(job_id):
                    self._next()
            case JobFinished(job_id=job_id, lost=lost):
                self._free(job_id)
                self.services.requests.drop(job_id)
                self.services.budgets.drop(job_id)
                self.services.limits.give_back(job_id)
                self.services.directory.tell("crews", JobMoved(job_id))
                if lost:
                    self._unseen.add(job_id)
            case Unclaimed(job_id=job_id):
                self._look_again(self._record(job_id))
            case LookedAgain(fact=fact):
                if fact is not None:
                    self._append([fact], Pending(port=None, revised=fact.job_id))
            case _End(survivors=survivors):
                if survivors:
                    log.error("processes that would not end: %s", survivors)
            case _:
                super().receive_own(message)

    def _submit(self, record: JobRecord) -> None:
        slot = record.wake_at is None and len(self._running) < self._most and self._waiting.line.admits(record)
        facts: list[Fact] = []
        if slot:
            self._running.add(record.job_id)
            record = record.model_copy(update={"state": JobState.LAUNCHING, "attempt": 1})
            facts = [JobAccepted(job_id=record.job_id, record=record), JobLaunching(job_id=record.job_id, attempt=1)]
        else:
            facts = [JobAccepted(job_id=record.job_id, record=record)]
        self._append(facts, Pending(port=self._port(), record=record, slot=slot), may_wait=False)

    def _submit_group(self, submitted: SubmitGroup) -> None:
        """Journal a group and all its members in one commit: there is the whole of it, or nothing."""
        group = submitted.group
        facts: list[Fact] = [FanoutAccepted(group_id=group.group_id, record=group)]
        facts += [JobAccepted(job_id=record.job_id, record=record) for record in submitted.records]
        self._append(facts, Pending(port=self._port(), group=submitted), may_wait=False)

    def _cancel(self, cancel: Cancel) -> None:
        facts: list[Fact] = [JobCancelRequested(job_id=job_id, at_once=cancel.at_once) for job_id in cancel.jobs]
        if cancel.group_id is not None:
            facts.append(FanoutCancelRequested(group_id=cancel.group_id))
        self._append(facts, Pending(port=self._port(), cancel=cancel), may_wait=False)

    def _cancel_unrecorded(self, cancel: Cancel, refusal: Refused) -> Refused:
        """End what runs although that can't be recorded yet: it may be what fills the disk. Say so."""
        for job_id in cancel.jobs:
            if self.child(job_actor(job_id)) is not None:
                self.services.directory.tell(job_actor(job_id), CancelJob(at_once=cancel.at_once))
        facts = [JobCancelRequested(job_id=job_id, at_once=cancel.at_once) for job_id in cancel.jobs]
        self._append(facts, Pending(port=None, cancel=cancel))  # waits for room, in its order
        message = f"the cancel can't be recorded yet ({refusal.message}); what runs is being ended all the same"
        return refusal.model_copy(update={"message": message})

    def _committed(self, token: int) -> None:  # noqa: C901, PLR0912  a line for each thing that may have waited
        pending = self._writer.settled(token)
        if pending is None:
            return
        if pending.record is not None:
            job_id = pending.record.job_id
            if pending.slot:
                self._run(job_id, pending.record)
            elif pending.record.wake_at is not None:
                self._waiting.hold(job_id, pending.record.wake_at)
            else:
                self._waiting.line.add(pending.record)
                self._next()
        if pending.group is not None:
            self._waiting.park(pending.group.records)
            self.services.directory.tell("crews", GroupSeen(pending.group.group.group_id))
        if pending.cancel is not None:
            for job_id in pending.cancel.jobs:
                self._cancel_one(job_id, at_once=pending.cancel.at_once)
        if pending.ended is not None:
            self._put_away(pending.ended)
            self.services.directory.tell("crews", JobMoved(pending.ended))
        if pending.ended is not None or pending.line:
            self._waiting.line.stale()
            self._next()
        if pending.removed is not None:
            self._remove_folders(pending.removed)
        if pending.revised is not None:
            log.info("%s: judged again", pending.revised)
            revised = self._record(pending.revised)
            if revised is not None:
                self._keep_meta(revised)
        if pending.port is not None:
            pending.port.set(True)

    def _refused(self, token: int, refusal: Refused) -> None:
        pending = self._writer.settled(token)
        if pending is None:
            return
        if pending.cancel is not None:
            refusal = self._cancel_unrecorded(pending.cancel, refusal)
        if pending.slot and pending.record is not None:
            self._free(pending.record.job_id)
        if pending.port is not None:
            pending.port.set(refusal)

    def _cancel_one(self, job_id: str, *, at_once: bool) -> None:
        leaves = self._waiting.is_held(job_id) and self.child(job_actor(job_id)) is not None
        if job_id in self._waiting and not leaves:
            self._waiting.remove(job_id)
            self._end(_ended(job_id, JobState.CANCELED, 130, "canceled on request", "canceled"))
        elif self.child(job_actor(job_id)) is not None:
            self.services.directory.tell(job_actor(job_id), CancelJob(at_once=at_once))
        elif not self._adopt(job_id):
            self._pass_on_cancel(job_id, at_once=at_once)

    def _cancel_noticed(self, notice: CancelNoticed) -> None:
        """Another process journalled a cancel: do it if that is true and the job is looked after here."""
        record = self._record(notice.job_id)
        if record is not None and record.cancel_requested and self._looked_after(notice.job_id):
            self._cancel_one(notice.job_id, at_once=notice.at_once)

    def _pass_on_cancel(self, job_id: str, *, at_once: bool) -> None:
        """Another process looks after this job: hint at what is in the journal."""
        record = self._record(job_id)
        live = record is not None and not record.state.terminal
        if live and not pass_on_cancel(self.services.home, job_id, at_once=at_once):
            log.warning("%s: whoever looks after it could not be told of the cancel", job_id)

    def _looked_after(self, job_id: str) -> bool:
        return job_id in self._waiting or job_actor(job_id) in self.children()

    def _adopt(self, job_id: str) -> bool:
        """Look after a job that nobody else does. Returns whether it is looked after here, or has ended."""
        if self._looked_after(job_id):
            return True
        record = self._record(job_id)
        if record is None or record.state.terminal:
            return True
        if owned_elsewhere(record.owner) or not self.services.lock.take():
            return False
        self._take(record)
        self._next()
        return True

    # --- children

    def _run(self, job_id: str, fresh: JobRecord | None) -> None:
        self._running.add(job_id)

        def begin(parent: Handle, incarnation: int) -> Handle:
            first = fresh is not None and incarnation == 1
            record = fresh if first else self._record(job_id)
            if record is None:
                raise LookupError(f"the record of {job_id} is gone")
            return start(
                Job,
                job_actor(job_id),
                directory=self.directory,
                parent=parent,
                incarnation=incarnation,
                record=record,
                services=self.services,
                epoch=next(self.services.epochs),
                fresh=first,
            )

        self.add(
            ChildSpec(
                id=job_actor(job_id),
                start=begin,
                restart=Restart.TRANSIENT,
                shutdown_s=CANCEL_S,
                budget=RestartBudget(3, 60.0),
                stall_s=60.0,
            )
        )

    def _go_on(self, job_id: str) -> None:
        """Start the next attempt of a job, unless its end was asked for while the last one's actor left."""
        self._moved.discard(job_id)
        record = self._record(job_id)
        if record is None or record.state.terminal:
            self._free(job_id)
        elif record.cancel_requested:
            self._end(_ended(job_id, JobState.CANCELED, 130, "canceled on request", "canceled"))
            self._free(job_id)
        else:
            self._run(job_id, record)

    def _free(self, job_id: str) -> None:
        self._running.discard(job_id)
        self._waiting.line.ended()
        self._next()

    def _next(self) -> None:
        """Start whose turn it is, as far as there are slots; end those whose turn will never come."""
        short, line = False, self._waiting.line
        while len(line) and not self.services.stopping.is_set():
            turn = line.turn()
            for job, reason in turn.skip:
                line.remove(job.job_id)
                self._end(_ended(job.job_id, JobState.CANCELED, 1, reason, "canceled"))
            if turn.run is None or len(self._running) >= self._most:
                break
            if short := self._dequeue_check.none_for(turn.run.job_id):
                break
            line.remove(turn.run.job_id)
            self._run(turn.run.job_id, None)
        self._waiting.look_later(short=short)

    def child_ended(self, name: str, error: str | None, *, restarted: bool) -> None:
        """Journal a crash; an ordered end frees the slot, whatever was told before."""
        if error is not None:
            self._append([ChildCrashed(child=name, error=error[:500], restarted=restarted)])
        else:
            job_id = name.removeprefix("job:")
            if job_id in self._moved:
                self._go_on(job_id)
                return
            record = self._record(job_id) if self._waiting.is_held(job_id) else None
            if record is not None and record.cancel_requested:
                self._cancel_one(job_id, at_once=False)  # asked of an actor that was leaving already
            self._free(job_id)
            if job_id in self._unseen:  # a record that came while the end waited to be written was heard by nobody
                self._unseen.discard(job_id)
                self._look_again(self._record(job_id))

    def gave_up(self, name: str, error: str) -> None:
        """End a job whose actor can't be kept alive, honestly and alone."""
        job_id = name.removeprefix("job:")
        record = self._record(job_id)
        log.error("%s: gave up: %s", job_id, error)
        self._end(_ended(job_id, JobState.FAILED, 1, f"supervisor gave up: {error}"[:200], "blocked"))
        self.services.pump.forget(job_id)
        self.services.live_figures.drop(job_id)
        if record is not None:
            spawn = JobFolder(self.services.home.job_dir(job_id)).read_spawn(record.attempt)
            delegate, shim = (spawn.delegate, spawn.shim) if spawn else (record.delegate, record.shim)
            in_background(
                f"end:{job_id}", self.handle, lambda: _End(end_tree(job_id, delegate, shim, 2.0)), otherwise=_End(())
            )
        self._free(job_id)


@dataclass(frozen=True, slots=True)
class _End:
    """The tree of a job that was given up has been ended."""

    survivors: tuple[int, ...]


def _ended(job_id: str, state: JobState, code: int, reason: str, outcome: str) -> JobEnded:
    return JobEnded(job_id=job_id, state=state, exit=code, reason=reason, outcome=outcome)
