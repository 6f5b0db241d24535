"""One loop as an actor: asks what comes next, journals it, has it done. A thin shell around the loop machine.

Its laps are ordinary jobs. The store is the truth: an actor or a supervisor that dies in the middle leaves a step that
was begun and has not ended, and the next one goes on with that very job, or that very check.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, assert_never

from ..messages.facts import Fact
from ..messages.internal import FactsCommitted
from ..messages.job import JobRecord
from ..messages.loop import LoopEnded, LoopRecord, LoopStep, LoopStepBegan, LoopStepEnded, Role, Shape
from ..state.errors import StateError
from ..state.files import create_private
from ..state.ids import new_job_id
from ..state.loop_machine import decide
from ..state.loop_moves import PASSED, Act, End, Grade, Wait
from ..state.loops_reader import loop
from ..state.reader import Reader
from .base import Actor
from .check_run import STOP
from .group_names import JobMoved
from .job_end import checked_outcome
from .jobs_asked import Cancel
from .journal_writer import JournalWriter
from .loop_folder import LoopFolder
from .loop_names import Changed, GoesOn, LapOf, Launched, LoopOver, Settled
from .loop_requests import in_session, model_of
from .loop_work import LoopWork
from .services import Services
from .tree import in_background

LOOK_S = 2.0
"""How often the store is looked at without a hint."""
FAULTS = 3
"""How often a step is tried again that a fault of ours kept from being done."""


class _Look:
    """To ourselves: time to look."""


class Loop(Actor):
    """See the module."""

    def __init__(
        self,
        *,
        loop_id: str,
        services: Services,
        work: LoopWork,
        epoch: int,
        random: Callable[[int], bytes],
        **common: Any,  # noqa: ANN401 - the base class's
    ) -> None:
        super().__init__(**common)
        self.loop_id = loop_id
        self.services = services
        self._work = work
        self._random = random
        self._writer: JournalWriter[Callable[[], None]] = JournalWriter(self, epoch)
        self._timer: int | None = None
        self._journalling = 0
        """Decisions that the journal has not confirmed: nothing is decided meanwhile."""
        self._at_work: set[int] = set()
        """Steps that a thread of ours is to tell us something of; 0: of none of them."""
        self._asked: set[int] = set()
        """Steps whose job, or turn, was asked for by this actor."""
        self._closed = False
        """Whether its sessions were ended."""
        self._ending = threading.Event()
        """Ends the check that runs."""
        self._told_cancel = False
        self._kept: LoopRecord | None = None
        """As its folder has it."""
        self._faults = 0

    def started(self) -> None:
        """Go on from where the store says."""
        self._look()
        self._tick()

    def receive(self, message: object) -> None:
        """One flat match over what a loop can be told."""
        match message:
            case _Look():
                self._look()
                self._tick()
            case JobMoved() | Changed():
                self._look()
            case Launched(number=number):
                self._at_work.discard(number)
                self._launched(message)
            case Settled(step=None, number=number):
                self._at_work.discard(number)
                self._faults += 1
                if self._faults > FAULTS:
                    raise RuntimeError("a step of the loop can't be done: the supervisor's log says why")
            case Settled(step=step) if step is not None:
                self._at_work.discard(step.number)
                self._ended(step)
            case GoesOn(number=number):
                self._at_work.discard(number)
                self._look()
            case FactsCommitted(token=token):
                then = self._writer.settled(token)
                if then is not None:
                    then()
            case _:
                super().receive(message)

    def stopping(self, reason: str) -> None:
        """Leave; the next supervisor takes the loop up. A check that runs goes on, unless all is to be canceled."""
        if self._timer is not None:
            self.services.clock.forget(self._timer)
        if reason == "cancel":
            self._ending.set()
            self._stop_check()
        self.finished()

    def _stop_check(self) -> None:
        """Have the check that runs ended, although nobody of this process may live to see to that."""
        record = self._record()
        for step in record.steps if record is not None else ():
            if step.role is not Role.CHECK or step.ended is not None:
                continue
            folder = LoopFolder.of(self.services.home, self.loop_id).check(step.number)
            with contextlib.suppress(StateError):
                create_private(folder / STOP, b"")

    # --- looking

    def _tick(self) -> None:
        self._timer = self.services.clock.later(LOOK_S, self.handle, _Look())

    def _record(self) -> LoopRecord | None:
        with Reader(self.services.home.database) as reader:
            found = loop(reader, self.loop_id)
        return None if found is None else LoopRecord.model_validate(found)

    def _look(self) -> None:
        """Do what comes next, unless something is under way."""
        record = self._record()
        if record is None or record.end is not None:
            if not self._journalling and not self._at_work:
                self._leave()
            return
        if record != self._kept:  # before anything is done of it: no lap is sent again by a store that was lost
            self._keep(record)
        if record.cancel_requested:
            self._cancel(record)
        if not self._journalling and not self.services.stopping.is_set():
            self._do_next(record)

    def _do_next(self, record: LoopRecord) -> None:
        now = self.services.clock.now().wall
        match decide(record, now):
            case Wait(steps=steps):
                for step in steps:
                    self._go_on(record, step)
            case Act() as act:
                self._begin(self._job_step(record, act, now))
            case Grade(lap=lap):
                number = len(record.steps) + 1
                step = LoopStep(number=number, role=Role.CHECK, lap=lap, segment=record.segment, began=now)
                self._begin(step)
            case End() if self._at_work:
                pass  # a thread that is not done yet tells us
            case End() as end if self._closed or not _to_close(record):
                self._end(record, end)
            case End():
                self._closed = True
                self._background("close", 0, lambda: self._work.close(record))
            case never:
                assert_never(never)

    def _job_step(self, record: LoopRecord, act: Act, now: float) -> LoopStep:
        number = len(record.steps) + 1
        first = not any(step.role is act.role for step in record.steps)
        works = act.role in (Role.BUILD, Role.WRITE)
        job_id = record.first_job if first and works else None
        fresh = new_job_id(now, self._random(6))
        live, alone = in_session(record.terms, act.role), act.role is Role.COMPARE
        return LoopStep(
            number=number,
            role=act.role,
            lap=act.lap,
            who=act.who,
            round=act.round,
            segment=record.segment,
            model=model_of(record.terms, record.model, act.role, act.who),
            job_id=None if live or alone else job_id or fresh,
            session_id=(_session_of(record, act) or fresh) if live else None,
            began=now,
        )

    # --- one step

    def _begin(self, step: LoopStep, instead_of: str | None = None) -> None:
        """Journal the step; then have it done."""
        self._asked.discard(step.number)
        self._journal([LoopStepBegan(loop_id=self.loop_id, step=step, instead_of=instead_of)], self._look)

    def _go_on(self, record: LoopRecord, step: LoopStep) -> None:
        """Have a step done that is in the journal, or see whether it has ended."""
        if step.number in self._at_work:
            return
        stop = self._ending
        if step.role is Role.CHECK:
            self._background("check", step.number, lambda: self._work.check(record, step, stop))
            return
        if step.role is Role.COMPARE:
            self._background("compare", step.number, lambda: self._work.compare(record, step))
            return
        if step.session_id is not None:
            if step.number in self._asked:
                self._background("turn", step.number, lambda: self._work.watch_turn(record, step, stop))
            else:
                self._asked.add(step.number)
                self._background("send", step.number, lambda: self._work.begin_turn(record, step))
            return
        if step.job_id is not None:
            self.directory.tell("loops", LapOf(step.job_id, self.loop_id))
        job = self._job(step)
        if job is None and step.number not in self._asked:
            self._asked.add(step.number)
            self._background("launch", step.number, lambda: self._work.launch(record, step))
        elif job is None or job.state.terminal:
            self._background("settle", step.number, lambda: self._work.settle(record, step, job))

    def _job(self, step: LoopStep) -> JobRecord | None:
        with Reader(self.services.home.database) as reader:
            found = reader.record(step.job_id or "")
        return None if found is None else JobRecord.model_validate(found)

    def _launched(self, told: Launched) -> None:
        record = self._record()
        found = record.steps if record is not None else ()
        step = next((one for one in found if one.number == told.number and one.ended is None), None)
        if record is None or step is None:
            return
        if told.refused is not None:
            self._ended(told.refused)
        elif told.renamed is not None:
            name = "job_id" if step.session_id is None else "session_id"
            self._begin(step.model_copy(update={name: told.renamed}), instead_of=getattr(step, name))
        elif told.again:
            self._asked.discard(step.number)  # at the next look
        else:
            self._look()

    def _ended(self, step: LoopStep) -> None:
        facts: list[Fact] = [LoopStepEnded(loop_id=self.loop_id, step=step), *self._outcome(step)]
        self._journal(facts, self._look)

    def _outcome(self, check: LoopStep) -> list[Fact]:
        """Return what a check says of the job whose work it graded."""
        record = self._record()
        graded = check.role is Role.CHECK and check.lap and check.state in (PASSED, "failed")
        if record is None or not graded:
            return []
        laps = [one for one in record.steps if one.lap == check.lap and one.role in (Role.BUILD, Role.WRITE)]
        job = self._job(laps[-1]) if laps else None
        if job is None or (laps[-1].changed and check.state == PASSED and not record.terms.allow_check_edits):
            return []  # a check that the delegate changed says nothing of it
        return [checked_outcome(job, passed=check.state == PASSED)]

    def _cancel(self, record: LoopRecord) -> None:
        """End the steps that run; a turn's watcher and a check's see the event."""
        self._ending.set()
        if self._told_cancel:
            return
        under_way = [step for step in record.steps if step.ended is None]
        jobs = [job for step in under_way if (job := self._job(step)) is not None and not job.state.terminal]
        if jobs:
            self._told_cancel = len(jobs) == len([step for step in under_way if step.job_id is not None])
            self.directory.tell("jobs", Cancel(tuple(job.job_id for job in jobs), at_once=False))

    # --- its end

    def _end(self, record: LoopRecord, end: End) -> None:
        hint = end.hint.replace("{loop}", self.loop_id) if end.hint else None
        reason = end.reason.replace("{loop}", self.loop_id)
        over = record.model_copy(update={"end": end.end, "reason": reason, "hint": hint})

        def go() -> None:
            self._keep(self._record() or over)
            self._leave()

        self._journal([LoopEnded(loop_id=self.loop_id, end=end.end, reason=reason[:1000], hint=hint)], go)

    def _keep(self, record: LoopRecord) -> None:
        if LoopFolder.of(self.services.home, self.loop_id).keep(record):
            self._kept = record

    def _leave(self) -> None:
        self.services.requests.drop(self.loop_id)
        self.directory.tell("loops", LoopOver(self.loop_id))
        self.stopping("over")

    # --- small things

    def _background(self, what: str, number: int, work: Callable[[], object]) -> None:
        self._at_work.add(number)
        in_background(f"{what}:{self.loop_id}", self.handle, work, otherwise=Settled(None, number))

    def _journal(self, facts: list[Fact], then: Callable[[], None]) -> None:
        self._journalling += 1

        def journalled() -> None:
            self._journalling -= 1
            then()

        self._writer.append(facts, journalled)


def _to_close(record: LoopRecord) -> bool:
    """Whether something is to be done before its end is journalled."""
    return record.terms.shape is Shape.OPINION or any(step.session_id for step in record.steps)


def _session_of(record: LoopRecord, act: Act) -> str | None:
    """Return the session that a step goes on in: that of its kind before, by the same model."""
    same = (one.session_id for one in reversed(record.steps) if one.role is act.role and one.who == act.who)
    return next(same, None)
