"""All loops: one actor for each that lives, found again by every supervisor.

A loop exists once its acceptance is journalled. What a store that was lost knew of loops is taken from their folders.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ..messages.facts import ChildCrashed, Fact
from ..messages.internal import FactsCommitted, FactsRefused
from ..messages.loop import LoopAccepted, LoopEnd, LoopEnded, LoopRecord
from ..state.loops_reader import live_loops, loop
from ..state.reader import Reader
from ..state.restart_budget import RestartBudget
from .base import Handle, Query, ReplyPort, log, start
from .group_names import JobMoved
from .job_desk import JobDesk
from .journal_writer import RESTARTING, JournalWriter
from .loop import Loop
from .loop_folder import RECORD, LoopFolder
from .loop_names import Changed, Decree, LapOf, LoopOver, loop_actor
from .loop_sessions import LoopSessions
from .loop_work import LoopWork
from .owners import may_take
from .services import Services
from .session_desk import SessionDesk
from .supervisor import ChildSpec, Restart, Supervisor
from .transient_faults import TransientFaults


@dataclass(frozen=True, slots=True)
class _Waiting:
    loop_id: str
    port: ReplyPort | None


class Loops(Supervisor):
    """See the module."""

    def __init__(
        self,
        *,
        services: Services,
        desk: JobDesk,
        sessions: SessionDesk,
        **common: Any,  # noqa: ANN401 - the base class's
    ) -> None:
        super().__init__(clock=services.clock, budget=RestartBudget(20, 60.0), faults=TransientFaults(), **common)
        self.services = services
        self._work = LoopWork(services, desk, LoopSessions(services, sessions))
        self._writer: JournalWriter[_Waiting] = JournalWriter(self, next(services.epochs))
        self._laps: dict[str, str] = {}
        """Job → its loop, of every step that runs."""

    def started(self) -> None:
        """Look after every live loop that nobody else does."""
        super().started()
        if self.services.lock.held:
            self._restore()
        with Reader(self.services.home.database) as reader:
            live = live_loops(reader)
        for loop_id in live:
            self._take(loop_id)

    def receive_own(self, message: object) -> None:
        """One flat match over what Loops can be told."""
        match message:
            case Decree(fact=fact):
                port = self.query.port if isinstance(self.query, Query) else None
                self._append(fact, _Waiting(fact.loop_id, port))
            case FactsCommitted(token=token):
                waiting = self._writer.settled(token)
                if waiting is not None:
                    self._committed(waiting)
            case FactsRefused(token=token, refusal=refusal):
                waiting = self._writer.settled(token)
                if waiting is not None and waiting.port is not None:
                    waiting.port.set(refusal)
            case LapOf(job_id=job_id, loop_id=loop_id):
                self._laps[job_id] = loop_id
            case JobMoved(job_id=job_id):
                found = self._laps.pop(job_id, None)
                if found is not None:
                    self.directory.tell(loop_actor(found), message)
            case LoopOver(loop_id=loop_id):
                self._laps = {job: of for job, of in self._laps.items() if of != loop_id}
            case _:
                super().receive_own(message)

    def gave_up(self, name: str, error: str) -> None:
        """End a loop whose actor can't be kept alive, honestly and alone. A job of it that runs goes on."""
        log.error("%s: gave up: %s", name, error)
        loop_id = name.removeprefix("loop:")
        reason = f"the supervisor gave up on it: {error}"[:300]
        hint = "osrc supervisor logs shows why"
        ended = LoopEnded(loop_id=loop_id, end=LoopEnd.BLOCKED, reason=reason, hint=hint)
        self._append(ended, _Waiting(loop_id, None), may_wait=True)

    def child_ended(self, name: str, error: str | None, *, restarted: bool) -> None:
        """Journal a crash. One that left as its loop was resumed is begun again."""
        if error is not None:
            self._append(ChildCrashed(child=name, error=error[:500], restarted=restarted), None)
        elif not self.services.stopping.is_set():
            self._take(name.removeprefix("loop:"))

    def _committed(self, waiting: _Waiting) -> None:
        if not self.directory.tell(loop_actor(waiting.loop_id), Changed()):
            self._take(waiting.loop_id)
        if waiting.port is not None:
            waiting.port.set(True)

    def _take(self, loop_id: str) -> None:
        """Look after a loop, unless it is looked after already, here or by the command that started it."""
        record = None if loop_actor(loop_id) in self.children() else self._record(loop_id)
        if record is None:
            return
        if record.end is not None:
            folder = LoopFolder.of(self.services.home, loop_id)
            if folder.record() != record:  # its actor could not, or was not there to: a lost store would revive it
                folder.keep(record)
            return
        if not may_take(self.services, record.owner):
            return

        def begin(parent: Handle, incarnation: int) -> Handle:
            return start(
                Loop,
                loop_actor(loop_id),
                directory=self.directory,
                parent=parent,
                incarnation=incarnation,
                loop_id=loop_id,
                services=self.services,
                work=self._work,
                epoch=next(self.services.epochs),
                random=os.urandom,
            )

        self.add(
            ChildSpec(
                id=loop_actor(loop_id),
                start=begin,
                restart=Restart.TRANSIENT,
                budget=RestartBudget(3, 60.0),
                stall_s=60.0,
            )
        )

    def _record(self, loop_id: str) -> LoopRecord | None:
        with Reader(self.services.home.database) as reader:
            found = loop(reader, loop_id)
        try:
            return None if found is None else LoopRecord.model_validate(found)
        except ValidationError:  # another version's, or damaged: no other loop goes down with it
            if found is not None and found.get("end") is None:
                self.gave_up(loop_actor(loop_id), "its record makes no sense here")
            return None

    def _restore(self) -> None:
        """Journal again what the store does not know of and a folder does."""
        place = self.services.home.loop_dir("x").parent
        try:
            ids = sorted(entry.name for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False))
        except OSError:
            return
        with Reader(self.services.home.database) as reader:
            unknown = [loop_id for loop_id in ids if loop(reader, loop_id) is None]
        for loop_id in unknown:
            folder = LoopFolder.of(self.services.home, loop_id)
            record = folder.record()
            if record is None or record.loop_id != loop_id:
                if os.path.lexists(folder.path / RECORD):
                    log.warning("%s: not restored: %s is damaged, or not its own", loop_id, folder.path / RECORD)
            else:
                log.warning("%s: restored from its folder", loop_id)
                self._append(LoopAccepted(loop_id=loop_id, record=record), _Waiting(loop_id, None), may_wait=True)

    def _append(self, fact: Fact, waiting: _Waiting | None, *, may_wait: bool = False) -> None:
        told = self._writer.append((fact,), waiting, may_wait=may_wait or waiting is None)
        if not told and waiting is not None and waiting.port is not None:
            waiting.port.set(RESTARTING)
