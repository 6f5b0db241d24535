"""The half of a job's actor that gets its delegate started: work tree, gate, shim, and what became of the launch.

An attempt belongs to whoever claims it, once: what is asked for again here never sends a prompt again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from ..lanes.contract import Lane
from ..messages.internal import WorktreeMade
from ..messages.job import ExitStatus, Identity, JobRecord
from ..messages.refusals import Refused
from ..messages.vocabulary import JobState
from ..state.job_folder import JobFolder, SpawnRecord
from ..state.job_machine import Event, JobMachine, Relaunched, Spawned
from ..state.watchdog import Policy
from .attempt import LaunchFate, claim_attempt, fate_of_launch, hurry
from .base import Actor, log
from .gate import Passed
from .job_end import failed
from .job_guard import note_tree
from .job_tree import make_tree
from .recheck import permit_again
from .services import Services
from .spawner import SpawnError

CLAIM_AFTER_S = 5.0
"""How long a shim may take to claim its attempt before the attempt is claimed from it."""
LAUNCHES = 6
"""Launches in a row that nobody takes up before it is said that none can be had."""


class LaunchingJob(Actor):
    """See the module. The attributes are the job's; what it does not define here, ``Job`` does."""

    record: JobRecord
    services: Services
    folder: JobFolder
    lane: Lane | None
    machine: JobMachine
    policy: Policy
    _launched_at: float
    _launches: int
    _promised: bool
    _preparing: bool
    _conclude: Callable[..., None]
    _step: Callable[[Event], None]
    _know: Callable[[Identity | None, Identity | None], None]
    _follow: Callable[..., None]
    _exit_recorded: Callable[[], bool]
    _exit_noticed: Callable[[], None]
    _show: Callable[[], None]

    def _launch(self, attempt: int) -> None:
        self.record = self.record.model_copy(update={"attempt": attempt, "shim": None, "delegate": None})
        self._preparing = True
        if self.record.worktree is not None:
            make_tree(self.record, self.folder, attempt, self.handle)
        else:
            self._note(attempt)

    def _tree_made(self, made: WorktreeMade) -> None:
        """Go on with the launch in the job's own work tree, unless it was canceled meanwhile."""
        if not self._prepares(made.attempt):
            return
        if made.why is None:
            self._note(made.attempt)
        elif claim_attempt(self.folder, made.attempt):
            self._preparing = False
            self._conclude(failed(f"worktree: {made.why}"), ExitStatus(error=made.why))

    def _note(self, attempt: int) -> None:
        if self._promised or self.record.check is not None:
            note_tree(self.folder, self.record, self.handle)
        else:
            self._ask_gate(attempt)

    def _ask_gate(self, attempt: int) -> None:
        """Ask the gate once more, now that it gets serious, unless the job was canceled meanwhile."""
        if self._prepares(attempt) and self.lane is not None:
            said = permit_again(self.folder, self.record, self.lane, self.services.home, self.handle)
            if said is not None:
                self._gate_answered(attempt, said)

    def _gate_answered(self, attempt: int, said: Passed | Refused) -> None:
        if not self._prepares(attempt):
            return
        self._preparing = False
        if isinstance(said, Passed):
            self._spawn(attempt, said)
        elif claim_attempt(self.folder, attempt):
            log.warning("%s: not launched: %s", self.record.job_id, said.message)
            self._conclude(failed(f"gate: {said.message}"), ExitStatus(error=said.message))

    def _prepares(self, attempt: int) -> bool:
        return self._preparing and self.machine.state is JobState.LAUNCHING and attempt == self.machine.attempt

    def _spawn(self, attempt: int, permit: Passed) -> None:
        self._launched_at = self.services.clock.now().mono
        try:
            self.services.spawner.spawn(self.folder.path, attempt, permit)
        except SpawnError as error:
            log.error("%s: %s", self.record.job_id, error)
            if claim_attempt(self.folder, attempt):
                self._conclude(failed(f"launch: {error}"), ExitStatus(error=str(error)))

    def _check_launch(self, patience_s: float) -> None:
        """Find out what became of a launch; one that never happened is tried again."""
        if self._preparing:
            return  # nobody was asked to start it yet
        attempt = self.machine.attempt
        waited_s = self.services.clock.now().mono - self._launched_at
        fate = fate_of_launch(
            self.folder,
            attempt,
            waited_s=waited_s,
            patience_s=patience_s,
            grace_s=self.policy.launch_grace_s,
        )
        match fate:
            case SpawnRecord(shim=shim, delegate=delegate):
                self._spawned(shim, delegate)
            case LaunchFate.ENDED:
                self._follow(seen_before=None)
                self._exit_noticed()
            case LaunchFate.NEVER:
                self._launch_again(patience_s)
            case LaunchFate.OPEN:
                hurry(self.folder, attempt, waited_s=waited_s, grace_s=self.policy.launch_grace_s)
            case _:
                assert_never(fate)

    def _launch_again(self, patience_s: float) -> None:
        self._launches += 1
        if self._launches >= LAUNCHES:
            self._conclude(failed(f"launch: no process took it up in {self._launches} attempts"))
            return
        if patience_s > 0:
            self.services.spawner.suspect(self._launched_at)
        self._step(Relaunched())

    def _spawned(self, shim: Identity | None, delegate: Identity | None) -> None:
        self._know(shim, delegate)
        self._follow(seen_before=None)
        self._step(Spawned())
        self._show()
        if self._exit_recorded():
            self._exit_noticed()
