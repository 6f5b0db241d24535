"""The half of a job's actor that brings it to its end: what is waited for, the verdict, the result, and leaving.

The end is journalled before anybody is told of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from ..lanes.contract import Lane
from ..lanes.evidence import Evidence
from ..lanes.grants import MCP_FILE
from ..lanes.outcome import Verdict
from ..messages.facts import JobEnded, JobOutcome
from ..messages.internal import (
    CostSettled,
    JobChecked,
    JobFinished,
    TickDue,
    TreeCompared,
    WorktreeSettled,
)
from ..messages.job import ExitStatus, JobRecord
from ..messages.vocabulary import JobState
from ..state.job_folder import LAUNCH, ExitRecord, JobFolder
from ..state.job_machine import Event, JobMachine, Judged, ProcessState
from ..state.records import apply
from ..state.watchdog import Cause
from .answer_file import AnswerFile
from .attempt import state_of
from .base import Actor
from .job_check import check_in_background
from .job_cost import reckoned, settle_cost
from .job_end import answer_of, checked_outcome, ended_fact, limit_note, remember_refusal, session_note, verdict_on
from .job_facts import gauges_of
from .job_guard import breach, compare_tree, sentences
from .job_hop import Hopping
from .job_output import JobOutput
from .job_tree import settle_tree
from .services import Services
from .tree_work import end_in_background

LEAVING_S = 8.0
"""How long a shim may take to end what its delegate left behind."""
HINT_S = 0.25
"""How long the last word of a shim that is gone may be on its way: only then it is looked what is left, all over."""
SWEEP_GRACE_S = 0.5
"""How long what a delegate left behind has between TERM and KILL."""


class ClosingJob(Actor):
    """See the module. The attributes are the job's; what it does not define here, ``Job`` does."""

    record: JobRecord
    services: Services
    folder: JobFolder
    lane: Lane | None
    machine: JobMachine
    _answer: AnswerFile
    _checking: threading.Event | None
    _complete: tuple[ExitStatus, Sequence[str]] | None
    _cost: CostSettled | None
    _compared: TreeCompared | None
    _comparing: bool
    _drained: bool
    _ended: bool
    _ended_at: float | None
    _exit: ExitRecord | None
    _exit_seen_at: float | None
    _hopping: Hopping
    _judged: tuple[Verdict, ExitStatus] | None
    _left: bool
    _notes: list[str]
    _output: JobOutput | None
    _promised: bool
    _settled: WorktreeSettled | None
    _settling: bool
    _shim_gone: bool
    _stop_when_ended: bool
    _survivors: tuple[int, ...]
    _sweeping: bool
    _tick: int | None
    _verified: bool | None
    _exit_recorded: Callable[[], bool]
    _journal: Callable[..., None]
    _let_go: Callable[[], None]
    _schedule: Callable[[], None]
    _show: Callable[[], None]
    _step: Callable[[Event], None]
    _write_meta: Callable[..., None]

    def _judge_if_complete(self) -> None:
        """Give the verdict once all output is read and the shim has cleaned up, or had time to."""
        waits = self._exit_seen_at is None or not self._drained or self._checking is not None
        if waits or self._ended or self._judged is not None:
            return
        if not self._shim_gone:
            self._await_the_shim()
            return
        if self._trees_awaited():
            return
        assert self._output is not None and self.lane is not None  # noqa: S101, PT018  it was drained
        self._exit_recorded()
        found = self._exit
        status = found.status if found is not None else ExitStatus(lost=True)
        if found is not None and found.damaged:
            self._notes.append("the exit record was damaged and set aside")
        if found is not None and found.at is not None and self.record.accepted_at <= found.at:
            self._ended_at = min(found.at, self.services.clock.now().wall)
        self._output.finish(status)
        broken: Sequence[str] = ()
        if self._compared is not None:
            self._notes += sentences(self._compared)
            broken = breach(self._compared)
        self._notes += self._settled.sentences if self._settled is not None else ()
        self._complete = (status, broken)
        if not self._begin_check():
            self._judge()

    def _begin_check(self) -> bool:
        """Have the job's own check run, where there is an answer for it to judge."""
        command, umask = self.record.check, self.services.umask
        if command is None or self.machine.cause is Cause.CANCEL:
            return False
        if self._verdict().state not in (JobState.DONE, JobState.DONE_UNVERIFIED):
            return False
        self._checking = threading.Event()
        check_in_background(self.folder, self.record, command, umask, self._checking, self.handle)
        self._show()
        return True

    def _check_told(self, told: JobChecked) -> None:
        if self._judged is None and not self._ended:
            self._verified = told.verified
            self._notes.append(told.sentence)
            self._judge()

    def _verdict(self) -> Verdict:
        assert self._output is not None and self.lane is not None and self._complete is not None  # noqa: S101, PT018  as above, and complete
        status, broken = self._complete
        return verdict_on(
            self._output.evidence,
            status,
            self.machine.cause,
            self.lane,
            self.record.verb,
            breach=broken,
            checks=self.record.check is not None,
            verified=self._verified,
        )

    def _judge(self) -> None:
        """Give the verdict; what the job cost may still have to be asked for."""
        assert self._output is not None and self.lane is not None and self._complete is not None  # noqa: S101, PT018  as above, and complete
        cause, verdict, status = self.machine.cause, self._verdict(), self._complete[0]
        limit = limit_note(self._output.evidence.turn, self.services.clock.now().wall)
        if limit is not None:
            self._notes.append(limit)
        self._step(Judged(verdict.state))
        self._judged = (verdict, status)
        evidence = self._output.evidence
        self._tell_gauges(evidence)
        asked = cause is not Cause.CANCEL and settle_cost(self.record, self.lane, evidence, self.services, self.handle)
        if not asked:
            self._cost = self._cost or reckoned(self.record, evidence, self.services)
            self._conclude_judged()

    def _tell_gauges(self, evidence: Evidence) -> None:
        if gauges := gauges_of(self.record, evidence, self._ended_at):
            self._journal(gauges)

    def _trees_awaited(self) -> bool:
        """Have the work tree compared, and the job's own seen to; whether that is still to be told."""
        compares = self._promised and self._compared is None
        settles = self.record.worktree is not None and self._settled is None
        if compares and not self._comparing:
            self._comparing = True
            compare_tree(self.folder, self.handle)
        if settles and not self._settling:
            self._settling = True
            settle_tree(self.record, self.folder, self.handle)
        return compares or settles

    def _conclude_judged(self, *, move: bool = True) -> None:
        """Look for another attempt where the lane failed the job; else this was the end."""
        if self._judged is None:
            return
        verdict, status = self._judged
        evidence = self._output.evidence if self._output is not None else None
        looks = move and evidence is not None and self.lane is not None and not self._stop_when_ended
        if looks and self._hopping.begin(self.record, verdict, evidence, self.lane):
            return
        self._conclude(verdict, status)

    def _await_the_shim(self) -> None:
        """Let the shim end what the delegate left behind; do it here where it can't, or has not said that it did."""
        waited_s = self.services.clock.now().mono - (self._exit_seen_at or 0.0)
        gone = state_of(self.record.shim) is ProcessState.GONE
        if waited_s < (HINT_S if gone else LEAVING_S):  # one that is gone has said so, and may only not be heard yet
            self._schedule()
        elif not self._sweeping:
            self._sweeping = True
            end_in_background(self.handle, self.record, SWEEP_GRACE_S)

    def _conclude(self, verdict: Verdict, status: ExitStatus | None = None) -> None:
        """Write the result, journal the end, and leave once that is on disk."""
        self._ended = True
        evidence = self._output.evidence if self._output is not None else None
        if self._survivors:
            self._notes.append(f"still running after the end: {', '.join(map(str, self._survivors))}")
        trouble = self._answer.write(answer_of(evidence, self.record.marker_id, self._notes))
        if trouble is not None:
            self._notes.append(f"the result could not be written at once: {trouble}")
        remember_refusal(self.record, verdict, self.lane, self.services.home)
        self.folder.discard(MCP_FILE)  # it may hold keys, and nobody needs them now
        if (way_on := session_note(self.record, verdict, self.lane, evidence)) is not None:
            self._notes.append(way_on)
        ended = ended_fact(
            self.record,
            verdict,
            status,
            evidence=evidence,
            cost=self._cost,
            notes=self._notes,
            ended_at=self._ended_at,
        )
        self._journal([ended, *self._outcome()], lambda: self._leave(ended))

    def _outcome(self) -> tuple[JobOutcome, ...]:
        """Return what the check said of the result, for the choice of models."""
        if self._verified is None:
            return ()
        return (checked_outcome(self.record, passed=self._verified),)

    def _leave(self, ended: JobEnded) -> None:
        self.record = apply(self.record, ended, self.services.clock.now().wall) or self.record
        self._write_meta()
        self.folder.empty(LAUNCH)  # where no shim came to read it; it may hold keys
        self._let_go()
        if self.parent is not None:
            lost = ended.exit_status is not None and ended.exit_status.lost
            self.parent.tell(JobFinished(job_id=self.record.job_id, lost=lost))
        self._left = True
        self._leave_when_written(TickDue())

    def _leave_when_written(self, message: object) -> None:
        """Leave, once there was room for the final message."""
        if not self._left or not isinstance(message, TickDue):
            return
        due_s = self._answer.retry_in_s()
        if due_s is None:
            self.finished()
        else:
            self._tick = self.services.clock.later(due_s, self.handle, TickDue())
