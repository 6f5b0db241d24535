"""One delegated job as an actor: a thin shell around the job machine, the lane's parser and the verdict.

What it is told becomes an event of the machine; what the machine answers is journalled first and done
then. Restarting it replays its record and its logs: it never sends a prompt again, because an attempt
can be claimed only once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from ..lanes.contract import Lane
from ..lanes.evidence import Evidence
from ..lanes.outcome import Verdict
from ..lanes.walls import guarded
from ..messages.facts import Fact
from ..messages.internal import (
    CancelJob,
    CostSettled,
    FactsCommitted,
    JobChecked,
    LimitSettled,
    OutputArrived,
    OutputDrained,
    ShimNoticed,
    TickDue,
    TreeCompared,
    TreeEnded,
    TreeLooked,
    TreeNoted,
    WorktreeMade,
    WorktreeSettled,
)
from ..messages.job import ExitStatus, Identity, JobRecord, TokenUsage
from ..messages.vocabulary import JobState
from ..state import job_machine as machine
from ..state.attempts import put_in_place
from ..state.errors import StateError
from ..state.job_folder import EVENTS, ExitRecord, JobFolder
from ..state.job_machine import JobMachine, ProcessState
from ..state.watchdog import Cause
from .answer_file import AnswerFile
from .attempt import claim_attempt, resume, state_of
from .base import log
from .hop import HopFound
from .job_closing import SWEEP_GRACE_S, ClosingJob
from .job_end import CANCELED, failed
from .job_facts import facts_of, progress_of
from .job_figures import figures
from .job_hop import Hopping, SettleDue
from .job_launch import CLAIM_AFTER_S, LaunchingJob
from .job_meter import JobMeter, MeterRead
from .job_moves import MovingJob
from .job_output import Heard, JobOutput, meaning
from .job_terms import cause_of, load_watch, policy_of, save_watch, task_of
from .journal_writer import JournalWriter
from .limit_book import Hindrance
from .recalling import recall
from .recheck import GateAnswered
from .retry_telling import RetryTelling
from .services import Services
from .tree_work import Seen, end_in_background, look_in_background

LAUNCH_TICK_S = 1.0
LEAVING_TICK_S = 0.25
SAVE_WATCH_S = 30.0
"""How often the watchdog's place is kept: what a killed supervisor may forget of a delegate's silence."""
MARKER_FACTS = 200
"""Most progress markers of one job that are journalled."""


class Job(LaunchingJob, MovingJob, ClosingJob):
    """See the module."""

    def __init__(self, *, record: JobRecord, services: Services, epoch: int, fresh: bool, **common: Any) -> None:  # noqa: ANN401  the base class's
        super().__init__(**common)
        self.record = record
        self.services = services
        self._fresh = fresh
        """True for a job whose first launch was journalled together with its acceptance just now."""
        self._writer: JournalWriter[Callable[[], None]] = JournalWriter(self, epoch)
        self._tick: int | None = None
        self._launched_at = 0.0
        self._exit_seen_at: float | None = None
        self._drained = False
        self._launches = 0
        self._exit: ExitRecord | None = None
        self._shim_gone = self._sweeping = False
        self._ended = self._left = False
        self._survivors: tuple[int, ...] = ()
        self._promised = False
        self._preparing = False
        self._comparing = False
        self._compared: TreeCompared | None = None
        self._settling = False
        self._settled: WorktreeSettled | None = None
        """What is in the job's own work tree."""
        self._marker_facts = 0
        # At work, and a reason: nothing else says so.
        self._retries = RetryTelling(told=record.state is JobState.RUNNING and record.reason is not None)
        self._seen = Seen()
        self._saved_at = 0.0
        self._ended_at: float | None = None
        self._notes: list[str] = []
        self._complete: tuple[ExitStatus, Sequence[str]] | None = None
        """How the attempt ended and what it broke, once all of that is known."""
        self._checking: threading.Event | None = None
        """Set: its check is to end early. None: its check was not begun."""
        self._verified: bool | None = None
        self._output: JobOutput | None = None
        self._judged: tuple[Verdict, ExitStatus] | None = None
        """The verdict, while what the job cost is being found out."""
        self._cost: CostSettled | None = None
        self._stop_when_ended = False
        self._hopping = Hopping(services, self.handle)
        self._meter = JobMeter(self.handle)
        self._overspent = False
        self._marked: Hindrance | None = None
        """The mark on its lane, where the job could not even begin for it."""
        self._canceled = False
        """Whether the end was asked for while the next attempt was looked for."""
        self.lane: Lane | None = None

    # --- start and recovery

    def started(self) -> None:
        """Begin the first launch, or take up where an earlier actor or supervisor was."""
        self.folder = JobFolder(self.services.home.job_dir(self.record.job_id))
        self._answer = AnswerFile(self.folder)
        lane = self.services.lane(self.record.lane)
        if lane is None:
            spawn = self.folder.read_spawn(self.record.attempt)
            if spawn is not None:  # nothing runs unwatched
                self._know(spawn.shim, spawn.delegate)
                end_in_background(self.handle, self.record, SWEEP_GRACE_S)
            self._conclude(failed(f"lane-gone: no lane is called {self.record.lane}"))
            return
        self.lane = lane
        if not self._fresh:
            recall(self.folder, lane, None)
        self._promised = guarded(lane, self.record.verb)
        self.policy = policy_of(self.record, lane)
        if self.record.hops:
            put_in_place(self.folder, self.record.attempt)
        self._launched_at = self.services.clock.now().mono
        if self._fresh:
            self.machine = JobMachine(state=JobState.LAUNCHING, attempt=self.record.attempt)
            self._perform((machine.Launch(self.record.attempt),))
        else:
            self._take_up()
        self._schedule()

    def _take_up(self) -> None:
        """Find the truth on disk."""
        state = self.record.state
        if self.record.wake_at is not None:
            self._wake()
            return
        if state is JobState.QUEUED:
            self.machine = JobMachine()
            self._slot_granted()
            return
        cause = cause_of(self.record)
        watch, read = load_watch(self.folder, self.record.attempt)
        self.machine = JobMachine(state=state, attempt=self.record.attempt, watch=watch, cause=cause)
        if state is JobState.LAUNCHING:
            self._check_launch(patience_s=0.0)
            return
        spawn = self.folder.read_spawn(self.record.attempt)
        if spawn is not None:
            self._know(spawn.shim, spawn.delegate)
        self._follow(seen_before=read)
        if self._exit_recorded():
            self._exit_noticed()
        elif cause is not None:
            self._end_tree(cause, self.policy.kill_grace_s)

    def _know(self, shim: Identity | None, delegate: Identity | None) -> None:
        self.record = self.record.model_copy(update={"shim": shim, "delegate": delegate})
        if not self._fresh and self.lane is not None and delegate is not None:
            recall(self.folder, self.lane, delegate.pid)

    # --- messages

    def receive(self, message: object) -> None:  # noqa: C901, PLR0912, PLR0915  one flat match
        """One flat match over what a job can be told."""
        if self._ended and not isinstance(message, FactsCommitted):
            self._leave_when_written(message)
            return
        match message:
            case FactsCommitted(token=token):
                then = self._writer.settled(token)
                if then is not None:
                    then()
            case OutputArrived():
                self._hear(message)
            case OutputDrained():
                self._drained = True
                if message.missing:
                    self._notes.append("a log could not be read to its end")
                self._judge_if_complete()
            case ShimNoticed():
                self._noticed(message)
            case TickDue():
                self._tick = None
                self._ticked()
                self._schedule()
            case TreeLooked() | TreeEnded() | TreeNoted() | TreeCompared():
                self._told_of_tree(message)
            case WorktreeMade():
                self._tree_made(message)
            case WorktreeSettled():
                self._settled = message
                self._judge_if_complete()
            case JobChecked():
                self._check_told(message)
            case GateAnswered(attempt=attempt, answer=answer):
                self._gate_answered(attempt, answer)
            case CostSettled():
                self._cost = message
                self._conclude_judged()
            case MeterRead(usage=usage):
                self._metered(usage)
            case LimitSettled() | SettleDue():
                self._hopping.told(message, self.record)
            case HopFound():
                self._hop_found(message)
            case CancelJob() if self._hopping.begun:
                self._canceled = True  # nothing runs: said as soon as the answer is in, which is soon
            case CancelJob() if self._judged is not None:
                self._conclude_judged(move=False)  # it has ended; what it cost stays unmeasured
            case CancelJob() if self._checking is not None:
                self._checking.set()
            case CancelJob():
                self._cancel(at_once=message.at_once)
            case _:
                super().receive(message)

    def _told_of_tree(self, message: TreeLooked | TreeEnded | TreeNoted | TreeCompared) -> None:
        match message:
            case TreeLooked():
                self._seen = Seen(message.cpu_s, self.services.clock.now().mono)
                self._step(machine.Looked(files=message.files, busy=message.busy))
            case TreeEnded():
                self._survivors = message.survivors
                self._shim_gone = self._shim_gone or self._sweeping
                self._ticked()
            case TreeNoted(attempt=attempt):
                self._ask_gate(attempt)
            case TreeCompared():
                self._compared = message
                self._judge_if_complete()
            case _:
                assert_never(message)

    def stopping(self, reason: str) -> None:
        """Leave the delegate running, or end it and wait for its record (``cancel``)."""
        if reason == "cancel" and not self._ended:
            self.services.directory.tell(self.name, CancelJob(at_once=True))
            self._stop_when_ended = True
            return
        self._let_go()
        self.finished()

    def _let_go(self) -> None:
        self._hopping.drop()
        if self._tick is not None:
            self.services.clock.forget(self._tick)
        self.services.pump.forget(self.record.job_id)
        if self._output is not None:
            if not self._ended:
                self._save_watch()
            self._output.close()
        self.services.live_figures.drop(self.record.job_id)

    # --- the machine

    def _step(self, event: machine.Event) -> None:
        before = self.machine
        self.machine, effects = machine.step(before, event, self.services.clock.now(), self.policy)
        for said in (effect for effect in effects if isinstance(effect, machine.Announce)):
            log.info("%s: %s", self.record.job_id, said.sentence)
        facts = facts_of(self.record, before, self.machine, event, effects)
        if facts:
            self._journal(facts, lambda: self._perform(effects))
        else:
            self._perform(effects)
        if self.machine.ended and not before.ended and not isinstance(event, machine.Judged):
            never = failed(f"launch: no process took it in {self.machine.attempt} attempts")
            self._conclude(CANCELED if self.machine.state is JobState.CANCELED else never)

    def _perform(self, effects: Sequence[machine.Effect]) -> None:
        for effect in effects:
            match effect:
                case machine.Launch(attempt=attempt):
                    self._launch(attempt)
                case machine.EndTree(cause=cause, grace_s=grace_s):
                    self._end_tree(cause, grace_s)
                case machine.LookClosely():
                    watch, now = self.machine.watch, self.services.clock.now()
                    look_in_background(self.handle, self.record, self.policy, watch, self._seen, now)
                case machine.Judge():
                    self._exit_seen_at = self.services.clock.now().mono
                    self.services.pump.drain(self.record.job_id)
                    self._show()
                    self._judge_if_complete()
                case machine.Announce():
                    pass
                case _:
                    assert_never(effect)

    def _follow(self, seen_before: dict[str, int] | None) -> None:
        """Read the output from its first byte: evidence is made anew, never kept half."""
        if self._output is not None or self.lane is None:
            return
        self._output = JobOutput(self.lane, task_of(self.record), self.record.marker_id, self.folder.file(EVENTS))
        pid = self.record.delegate.pid if self.record.delegate is not None else None
        self.services.pump.follow(
            self.record.job_id, self.handle, self.folder.path, seen_before=seen_before, rescue_pid=pid
        )

    # --- watching

    def _hear(self, arrived: OutputArrived) -> None:
        assert self._output is not None  # noqa: S101  output only comes after _follow
        heard = self._output.feed(arrived.data, arrived.stream)
        self.services.pump.acknowledge(self.record.job_id)
        if self.machine.state not in machine.RUNNING_STATES:
            return
        if not arrived.live:
            self.machine = machine.recall(self.machine, initialised=heard.initialised, wrote=heard.wrote)
            if heard.final:
                self._step(machine.FinalSeen())
            else:
                self._mind_the_budget(self._output.evidence, live=False)
            return
        self._react(heard)
        self._show()

    def _react(self, heard: Heard) -> None:
        assert self._output is not None  # noqa: S101  as above
        evidence = self._output.evidence
        for event in meaning(heard, evidence, self.record.verb, self.policy.permission_abort):
            self._step(event)
        if heard.final:
            self._schedule()
        else:
            self._mind_the_budget(evidence)
            self._meter.look(self.record, self.lane, evidence)
        if told := self._retries.tell(self.record.job_id, self.machine.state, heard, evidence):
            self._journal(told)
        named = evidence.model != self.record.model_observed or evidence.conversation != self.record.conversation
        if named or (heard.marked and self._marker_facts < MARKER_FACTS):
            self._marker_facts += heard.marked
            self.record = self.record.model_copy(
                update={"model_observed": evidence.model, "conversation": evidence.conversation}
            )
            self._journal([progress_of(self.record, evidence)])

    def _mind_the_budget(self, evidence: Evidence, *, live: bool = True) -> None:
        spent = self.services.budgets.spend(self.record, evidence, live=live)
        if spent is not None and not self._overspent:
            self._overspent = True  # what is being ended may get one more answer: that is no news
            self._notes.append(f"ended by the budget: {spent}")
            self._step(machine.Hopeless(Cause.BUDGET))

    def _metered(self, usage: TokenUsage | None) -> None:
        again = self._meter.told()
        if self._output is None or self.machine.state not in machine.RUNNING_STATES:
            return
        if usage is not None:
            self._output.metered(usage)
            self._mind_the_budget(self._output.evidence)
        if again:
            self._meter.look(self.record, self.lane, self._output.evidence)

    def _ticked(self) -> None:
        if self._exit_seen_at is not None:  # also of a launch that failed: its shim may be gone without a word
            self._judge_if_complete()
        elif self.machine.state is JobState.LAUNCHING:
            self._check_launch(patience_s=CLAIM_AFTER_S)
        elif self.machine.state in machine.RUNNING_STATES:
            self._look_at_process()
            if self.services.clock.now().mono - self._saved_at >= SAVE_WATCH_S:
                self._save_watch()

    def _look_at_process(self) -> None:
        if self._exit_recorded():
            self._exit_noticed()
            return
        process = state_of(self.record.delegate)
        if process is ProcessState.GONE and state_of(self.record.shim) is ProcessState.GONE:
            self._exit_recorded()  # it may have come since the last look
            self._step(machine.Exited())
            return
        if process in (ProcessState.GONE, ProcessState.ZOMBIE) and self.record.shim is not None:
            resume(self.record.shim)  # one that somebody stopped can't see its delegate end
        self._step(machine.Tick(process))

    # --- the end

    def _cancel(self, *, at_once: bool) -> None:
        if self.machine.state is JobState.LAUNCHING:
            self._step(machine.CancelRequested(at_once=at_once))
            if claim_attempt(self.folder, self.machine.attempt):
                self._step(machine.Relaunched())
            return
        self._step(machine.CancelRequested(at_once=at_once))

    def _end_tree(self, cause: Cause, grace_s: float) -> None:
        log.info("%s: ending its processes: %s", self.record.job_id, cause.value)
        end_in_background(self.handle, self.record, grace_s)

    def _noticed(self, notice: ShimNoticed) -> None:
        if notice.what == "spawned":
            if self.machine.state is JobState.LAUNCHING:
                self._check_launch(patience_s=CLAIM_AFTER_S)
            return
        if notice.what == "gone":
            self._shim_gone = True
            self._survivors = notice.survivors or self._survivors
        if self._exit_seen_at is None:
            if self.machine.state is JobState.LAUNCHING:
                self._check_launch(patience_s=CLAIM_AFTER_S)
            elif self._exit_recorded():
                self._exit_noticed()
        else:
            self._judge_if_complete()

    def _exit_recorded(self) -> bool:
        """Whether the exit record is there. It is read once: a damaged one is set aside by reading it."""
        self._exit = self._exit or self.folder.read_exit()
        return self._exit is not None

    def _exit_noticed(self) -> None:
        if self._exit_seen_at is None:
            self._step(machine.Exited())

    # --- small things

    def _journal(self, facts: Sequence[Fact], then: Callable[[], None] | None = None) -> None:
        self._writer.append(facts, then)

    def _schedule(self) -> None:
        if self._tick is not None:
            self.services.clock.forget(self._tick)
        if self._ended:
            return
        if self.machine.state is JobState.LAUNCHING:
            delay = LAUNCH_TICK_S
        elif self._exit_seen_at is not None:
            delay = LEAVING_TICK_S
        else:
            delay = machine.next_tick_s(self.machine, self.policy)
        self._tick = self.services.clock.later(delay, self.handle, TickDue())

    def _show(self) -> None:
        if self._output is None:
            return
        unread = self.services.pump.unread(self.record.job_id)
        shown = figures(self._output.evidence, self.machine, attached=self.services.attached, unread=unread)
        if self._checking is not None:
            shown["note"] = "its delegate has answered; its check is run"
        self.services.live_figures.put(self.record.job_id, shown)

    def _save_watch(self) -> None:
        if self._output is not None:
            self._saved_at = self.services.clock.now().mono
            save_watch(self.folder, self.machine, self._output.bytes)

    def _write_meta(self, plan: Mapping[str, Any] | None = None) -> None:
        """Keep the record's second copy; a full disk costs the copy, not the job."""
        try:
            self.folder.write_meta(self.record, plan)
        except StateError as error:
            log.warning("%s: %s", self.record.job_id, error)
