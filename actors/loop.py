"""One loop as an actor: asks what comes next, journals it, has it done. A thin shell around the loop machine.

Its laps are ordinary jobs. The store is the truth: an actor or a supervisor that dies in the middle leaves a step that
was begun and has not ended, and the next one goes on with that very job, or that very check.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, assert_never

from ..messages.facts import Fact, JobOutcome
from ..messages.internal import FactsCommitted
from ..messages.job import JobRecord
from ..messages.loop import LoopEnded, LoopRecord, LoopStep, LoopStepBegan, LoopStepEnded, Role
from ..messages.model_names import canonical
from ..state.errors import StateError
from ..state.files import create_private
from ..state.ids import new_job_id
from ..state.loop_machine import PASSED, Act, End, Grade, Wait, decide
from ..state.loops_reader import loop
from ..state.reader import Reader
from .base import Actor, log
from .check_run import STOP
from .group_names import JobMoved
from .jobs_asked import Cancel
from .journal import Append
from .loop_folder import RECORD, LoopFolder
from .loop_names import Changed, LapOf, Launched, LoopOver, Settled
from .loop_requests import model_of
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
        self._epoch = epoch
        self._random = random
        self._tokens = 0
        self._pending: dict[int, Callable[[], None]] = {}
        self._timer: int | None = None
        self._busy = False
        """Whether a thread of ours, or the journal, is to tell us something."""
        self._asked = False
        """Whether the job of the step that runs was asked for by this actor."""
        self._ending = threading.Event()
        """Ends the check that runs."""
        self._told_cancel = False
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
            case Launched():
                self._busy = False
                self._launched(message)
            case Settled(step=None):
                self._busy = False
                self._faults += 1
                if self._faults > FAULTS:
                    raise RuntimeError("a step of the loop can't be done: the supervisor's log says why")
            case Settled(step=step) if step is not None:
                self._busy = False
                self._ended(step)
            case FactsCommitted(token=token):
                then = self._pending.pop(token, None)
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
        step = record.steps[-1] if record is not None and record.steps else None
        if step is not None and step.role is Role.CHECK and step.ended is None:
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
            if not self._busy:
                self._leave()
            return
        if record.cancel_requested:
            self._cancel(record)
        if self._busy or self.services.stopping.is_set():
            return
        now = self.services.clock.now().wall
        match decide(record, now):
            case Wait(step=step):
                self._go_on(record, step)
            case Act() as act:
                self._begin(record, self._job_step(record, act, now))
            case Grade(lap=lap):
                number = len(record.steps) + 1
                step = LoopStep(number=number, role=Role.CHECK, lap=lap, segment=record.segment, began=now)
                self._begin(record, step)
            case End() as end:
                self._end(record, end)
            case never:
                assert_never(never)

    def _job_step(self, record: LoopRecord, act: Act, now: float) -> LoopStep:
        number = len(record.steps) + 1
        first = not any(step.role is act.role for step in record.steps)
        works = act.role in (Role.BUILD, Role.WRITE)
        job_id = record.first_job if first and works else None
        return LoopStep(
            number=number,
            role=act.role,
            lap=act.lap,
            who=act.who,
            round=act.round,
            segment=record.segment,
            model=model_of(record.terms, record.model, act.role, act.who),
            job_id=job_id or new_job_id(now, self._random(6)),
            began=now,
        )

    # --- one step

    def _begin(self, record: LoopRecord, step: LoopStep) -> None:
        """Journal the step; then have it done."""
        self._busy, self._asked = True, False
        begun = record.model_copy(update={"steps": (*(one for one in record.steps if one.number != step.number), step)})

        def go() -> None:
            self._busy = False
            self._go_on(begun, step)

        self._journal([LoopStepBegan(loop_id=self.loop_id, step=step)], go)

    def _go_on(self, record: LoopRecord, step: LoopStep) -> None:
        """Have a step done that is in the journal, or see whether it has ended."""
        if step.role is Role.CHECK:
            stop = self._ending
            self._background("check", lambda: self._work.check(record, step, stop))
            return
        if step.job_id is not None:
            self.directory.tell("loops", LapOf(step.job_id, self.loop_id))
        job = self._job(step)
        if job is None and not self._asked:
            self._asked = True
            self._background("launch", lambda: self._work.launch(record, step))
        elif job is None or job.state.terminal:
            self._background("settle", lambda: self._work.settle(record, step, job))

    def _job(self, step: LoopStep) -> JobRecord | None:
        with Reader(self.services.home.database) as reader:
            found = reader.record(step.job_id or "")
        return None if found is None else JobRecord.model_validate(found)

    def _launched(self, told: Launched) -> None:
        record = self._record()
        step = record.steps[-1] if record is not None and record.steps else None
        if record is None or step is None or step.number != told.number or step.ended is not None:
            return
        if told.refused is not None:
            self._ended(told.refused)
        elif told.renamed is not None:
            self._begin(record, step.model_copy(update={"job_id": told.renamed}))
        elif told.again:
            self._asked = False  # at the next look
        else:
            self._look()

    def _ended(self, step: LoopStep) -> None:
        self._busy = True
        facts: list[Fact] = [LoopStepEnded(loop_id=self.loop_id, step=step), *self._outcome(step)]

        def go() -> None:
            self._busy = False
            self._look()

        self._journal(facts, go)

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
        told = JobOutcome(
            job_id=job.job_id,
            outcome="passed" if check.state == PASSED else "failed",
            source="check",
            task_kind=job.task_kind,
            project=job.project,
            lane=job.lane,
            model=canonical(job.model),
        )
        return [told]

    def _cancel(self, record: LoopRecord) -> None:
        """End the step that runs."""
        self._ending.set()
        step = record.steps[-1] if record.steps else None
        if step is None or step.ended is not None or step.job_id is None or self._told_cancel:
            return
        job = self._job(step)
        if job is not None and not job.state.terminal:
            self._told_cancel = True
            self.directory.tell("jobs", Cancel((step.job_id,), at_once=False))

    # --- its end

    def _end(self, record: LoopRecord, end: End) -> None:
        self._busy = True
        hint = end.hint.replace("{loop}", self.loop_id) if end.hint else None
        reason = end.reason.replace("{loop}", self.loop_id)
        over = record.model_copy(update={"end": end.end, "reason": reason, "hint": hint})

        def go() -> None:
            self._keep(over)
            self._leave()

        self._journal([LoopEnded(loop_id=self.loop_id, end=end.end, reason=reason[:1000], hint=hint)], go)

    def _keep(self, record: LoopRecord) -> None:
        """Keep a copy for a store that may be lost."""
        known = self._record() or record
        try:
            LoopFolder.of(self.services.home, self.loop_id).write_json(RECORD, known.model_dump(mode="json"))
        except StateError as error:
            log.warning("%s: %s", self.loop_id, error)

    def _leave(self) -> None:
        self.services.requests.drop(self.loop_id)
        self.directory.tell("loops", LoopOver(self.loop_id))
        self.stopping("over")

    # --- small things

    def _background(self, what: str, work: Callable[[], object]) -> None:
        self._busy = True
        in_background(f"{what}:{self.loop_id}", self.handle, work, otherwise=Settled(None))

    def _journal(self, facts: list[Fact], then: Callable[[], None]) -> None:
        self._tokens += 1
        self._pending[self._tokens] = then
        append = Append(writer=self.name, epoch=self._epoch, facts=tuple(facts), to=self.handle, token=self._tokens)
        self.directory.tell("journal", append)
