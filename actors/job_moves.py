"""The half of a job's actor that decides what follows a failed attempt: the next one, a wait, or the end.

Each decision is journalled before anything is done about it. What follows is another actor's: this one leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..lanes.grants import MCP_FILE
from ..lanes.outcome import Verdict
from ..messages.facts import Fact, JobHeld, JobHopped, JobLaunching
from ..messages.internal import CostSettled
from ..messages.job import Attempted, Cost, ExitStatus, JobRecord
from ..state.attempts import discard_stage, put_in_place
from ..state.job_folder import JobFolder
from ..state.job_machine import CancelRequested, Event, JobMachine, SlotGranted
from ..state.records import apply
from .base import Actor, log
from .hop import HopFound, Ready
from .job_end import CANCELED, cost_of, failed, lane_down
from .job_hop import Hopping, Moved, Waits, mark_on, over, still_held
from .job_output import JobOutput
from .limit_book import Hindrance
from .services import Services


class MovingJob(Actor):
    """See the module. The attributes are the job's; what it does not define here, ``Job`` does."""

    record: JobRecord
    services: Services
    folder: JobFolder
    machine: JobMachine
    _hopping: Hopping
    _judged: tuple[Verdict, ExitStatus] | None
    _output: JobOutput | None
    _cost: CostSettled | None
    _ended_at: float | None
    _notes: list[str]
    _canceled: bool
    _marked: Hindrance | None
    _ended: bool
    _conclude: Callable[..., None]
    _journal: Callable[..., None]
    _step: Callable[[Event], None]
    _let_go: Callable[[], None]
    _write_meta: Callable[..., None]

    def _wake(self) -> None:
        """The limit that the job waited for should have ended by now."""
        self.machine = JobMachine(attempt=self.record.attempt)
        until = still_held(self.services, self.record)
        if self.record.cancel_requested:
            self._step(CancelRequested())
        elif until is not None:
            self._hold(until, self.record.reason or "waits for a limit to end", None)
        elif self.record.attempt == 0:
            self._step(SlotGranted())
        else:
            self._hopping.again(self.record)

    def _slot_granted(self) -> None:
        """Begin a job that was queued: elsewhere, where its lane was marked down meanwhile."""
        found = mark_on(self.services, self.record)
        if found is None or self.record.cancel_requested:
            self._step(CancelRequested() if self.record.cancel_requested else SlotGranted())
            return
        self._marked = found
        self._hopping.leave(self.record, found.until)

    def _hop_found(self, found: HopFound) -> None:
        """Decide: the next attempt, a wait, or the end."""
        self._hopping.over = True
        verdict, status = self._judged or (self._never_began(found.why), None)
        if self._canceled:
            discard_stage(self.folder)
            self._conclude(CANCELED, status)
        elif found.ready is not None:
            self._hop(found.ready)
        elif found.wait_until is not None:
            self._hold(found.wait_until, found.why or "", self._over(found.why or ""))
        else:
            self._notes += [found.why] if found.why and self._judged is not None else []
            self._conclude(verdict, status)

    def _over(self, why: str) -> Attempted | None:
        """Return what is kept of the attempt that is over; None where that was told already."""
        if self._judged is None:
            down = self._marked
            return None if down is None else over(self.record, verdict=lane_down(down), cost=Cost(), why=why)
        verdict, status = self._judged
        evidence = self._output.evidence if self._output is not None else None
        cost = cost_of(self.record, evidence, self._cost)
        return over(self.record, verdict=verdict, status=status, cost=cost, ended=self._ended_at, why=why)

    def _never_began(self, why: str | None) -> Verdict:
        """Return the verdict on a job that no attempt was made for."""
        if self._marked is None:
            return failed(why or "it could not go on")
        self._notes += [why] if why else []
        return lane_down(self._marked)

    def _hop(self, ready: Ready) -> None:
        attempt = ready.record.attempt
        log.info("%s: %s", self.record.job_id, ready.why)
        hopped = JobHopped(job_id=self.record.job_id, over=self._over(ready.why), record=ready.record, why=ready.why)
        launching = JobLaunching(job_id=self.record.job_id, attempt=attempt)
        self._journal([hopped, launching], lambda: self._hopped(ready, (hopped, launching)))

    def _hopped(self, ready: Ready, facts: Sequence[Fact]) -> None:
        """It is decided: the folder becomes the new attempt's, and another actor looks after that."""
        self._services_of(ready)
        self._follow_facts(facts)
        self._write_meta(ready.plan)
        if self._canceled:
            discard_stage(self.folder)
            self._conclude(CANCELED)
            return
        self._let_go()
        self.folder.discard(MCP_FILE)  # as at the end
        put_in_place(self.folder, self.record.attempt)
        self._leave_for(Moved(self.record.job_id))

    def _services_of(self, ready: Ready) -> None:
        self.services.limits.give_back(ready.token)
        if ready.account is not None:
            self.services.accounts.keep(self.record.job_id, ready.account)

    def _hold(self, until: float, why: str, attempted: Attempted | None) -> None:
        log.info("%s: %s", self.record.job_id, why)
        held = JobHeld(job_id=self.record.job_id, until=until, why=why, over=attempted)
        self._journal([held], lambda: self._held(held))

    def _held(self, held: JobHeld) -> None:
        self._follow_facts([held])
        self._write_meta()
        if self._canceled:
            self._conclude(CANCELED)
            return
        self._let_go()
        self._leave_for(Waits(self.record.job_id, held.until))

    def _follow_facts(self, facts: Sequence[Fact]) -> None:
        for fact in facts:
            self.record = apply(self.record, fact, self.services.clock.now().wall) or self.record

    def _leave_for(self, what: Moved | Waits) -> None:
        self._ended = True
        if self.parent is not None:
            self.parent.tell(what)
        self.finished()
