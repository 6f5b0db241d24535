"""The root of the tree: what is started, in which order, and how the whole ends.

    Root            rest_for_one
    ├─ journal      the only writer of the store
    ├─ limits       marks, quotas, the one verification of a limit
    ├─ work         one_for_one
    │  ├─ jobs      ─ job, one for each
    │  ├─ crews     ─ group, one for each
    │  ├─ loops     ─ loop, one for each
    │  └─ sessions  ─ session, one for each
    ├─ fleet        every AI session of this machine, while somebody looks
    ├─ gateway      (not inside a command)
    └─ heartbeat    (not inside a command) watches it all; the last, so that nobody stands on it

Later ones use earlier ones: when the journal crashes, all that stood on it is started anew from what
it kept.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from .. import __version__
from ..messages.facts import ChildCrashed, SupervisorStarted, SupervisorStopped
from ..state.restart_budget import RestartBudget
from ..state.store import Store
from .base import Handle, Stop, log, start
from .crews import Crews
from .dispatch import Dispatcher
from .fleet_watcher import FleetWatcher
from .gateway import Gateway, Listener
from .heartbeat import Heartbeat
from .jobs import Jobs
from .journal import Append, Journal
from .limits import Limits
from .loops import Loops
from .opening import open_store
from .services import Services
from .sessions import Sessions
from .supervisor import ChildSpec, Strategy, Supervisor
from .transient_faults import TransientFaults


@dataclass(frozen=True, slots=True)
class _IdleDue:
    pass


@dataclass(frozen=True, slots=True)
class _HomeDue:
    pass


HEARTBEAT = "heartbeat"
HOME_LOOK_S = 30.0
"""How often the supervisor looks whether its state home still stands."""


class Root(Supervisor):
    """See the module."""

    def __init__(  # noqa: PLR0913  the tree's parts, all by name
        self,
        *,
        services: Services,
        store: Store,
        dispatcher: Dispatcher,
        listener: Listener | None,
        max_jobs: int,
        idle_exit_s: float,
        **common: Any,  # noqa: ANN401  the base class's
    ) -> None:
        self.services = services
        self._store: Store | None = store
        self._dispatcher = dispatcher
        self._listener = listener
        self._max_jobs = max_jobs
        self._idle_exit_s = idle_exit_s
        self.stop_reason = "crash"
        self._work_faults = TransientFaults()
        """Of every ``work`` there will be: a trouble that outlasts them takes the tree down in the end."""
        super().__init__(
            clock=services.clock,
            strategy=Strategy.REST_FOR_ONE,
            budget=RestartBudget(10, 60.0),
            faults=TransientFaults(),
            specs=self._tree(),
            **common,
        )

    def _tree(self) -> tuple[ChildSpec, ...]:
        specs = [
            ChildSpec(id="journal", start=self._journal, shutdown_s=10.0),
            ChildSpec(id="limits", start=self._limits, shutdown_s=5.0),
            ChildSpec(id="work", start=self._work, shutdown_s=60.0, budget=RestartBudget(3, 60.0)),
        ]
        specs.append(ChildSpec(id="fleet", start=self._fleet, shutdown_s=5.0))
        if self._listener is not None:
            specs.append(ChildSpec(id="gateway", start=self._gateway, shutdown_s=5.0))
            budget = RestartBudget(6, 60.0)  # less than the tree's own, which is left for all else
            specs.append(ChildSpec(id=HEARTBEAT, start=self._heartbeat, shutdown_s=5.0, budget=budget))
        return tuple(specs)

    def _journal(self, parent: Handle, incarnation: int) -> Handle:
        store, self._store = self._store, None
        if store is None:
            if self.services.lock.displaced:
                self._look_at_home()
            store = open_store(self.services.home, self.services.lock, self.services.clock.now().wall)
        return start(
            Journal,
            "journal",
            directory=self.directory,
            parent=parent,
            incarnation=incarnation,
            store=store,
            clock=self.services.clock,
            feed=self.services.feed,
        )

    def _limits(self, parent: Handle, incarnation: int) -> Handle:
        return start(
            Limits,
            "limits",
            directory=self.directory,
            parent=parent,
            incarnation=incarnation,
            services=self.services,
        )

    def _work(self, parent: Handle, incarnation: int) -> Handle:
        jobs = ChildSpec(id="jobs", start=self._jobs, shutdown_s=50.0, budget=RestartBudget(4, 60.0))
        crews = ChildSpec(id="crews", start=self._crews, shutdown_s=10.0, budget=RestartBudget(4, 60.0))
        loops = ChildSpec(id="loops", start=self._loops, shutdown_s=10.0, budget=RestartBudget(4, 60.0))
        sessions = ChildSpec(id="sessions", start=self._sessions, shutdown_s=30.0, budget=RestartBudget(4, 60.0))
        return start(
            Supervisor,
            "work",
            directory=self.directory,
            parent=parent,
            incarnation=incarnation,
            clock=self.services.clock,
            specs=(jobs, crews, loops, sessions),
            budget=RestartBudget(6, 60.0),
            faults=self._work_faults,
        )

    def _jobs(self, parent: Handle, incarnation: int) -> Handle:
        return start(
            Jobs,
            "jobs",
            directory=self.directory,
            parent=parent,
            incarnation=incarnation,
            services=self.services,
            max_jobs=self._max_jobs,
        )

    def _crews(self, parent: Handle, incarnation: int) -> Handle:
        return start(
            Crews,
            "crews",
            directory=self.directory,
            parent=parent,
            incarnation=incarnation,
            services=self.services,
        )

    def _loops(self, parent: Handle, incarnation: int) -> Handle:
        return start(
            Loops,
            "loops",
            directory=self.directory,
            parent=parent,
            incarnation=incarnation,
            services=self.services,
            desk=self._dispatcher.jobs,
            sessions=self._dispatcher.sessions,
        )

    def _sessions(self, parent: Handle, incarnation: int) -> Handle:
        return start(
            Sessions,
            "sessions",
            directory=self.directory,
            parent=parent,
            incarnation=incarnation,
            services=self.services,
        )

    def _fleet(self, parent: Handle, incarnation: int) -> Handle:
        return start(
            FleetWatcher,
            "fleet",
            directory=self.directory,
            parent=parent,
            incarnation=incarnation,
            services=self.services,
        )

    def _gateway(self, parent: Handle, incarnation: int) -> Handle:
        return start(
            Gateway,
            "gateway",
            directory=self.directory,
            parent=parent,
            incarnation=incarnation,
            dispatcher=self._dispatcher,
            listener=self._listener,
        )

    def _heartbeat(self, parent: Handle, incarnation: int) -> Handle:
        return start(
            Heartbeat,
            HEARTBEAT,
            directory=self.directory,
            parent=parent,
            incarnation=incarnation,
            services=self.services,
        )

    def gave_up(self, name: str, error: str) -> None:
        """Go on without a heartbeat: nobody is woken, but all work goes on. Without any other part there is no tree."""
        if name != HEARTBEAT:
            super().gave_up(name, error)
        self.services.heartbeat_watch.waiting = False  # no push is to come that the supervisor would have to stay for
        log.error("gave up on the heartbeat: nobody is woken until the supervisor is restarted: %s", error)

    def started(self) -> None:
        """Start the tree, say so in the journal, and watch for idleness."""
        super().started()
        self._append(SupervisorStarted(pid=os.getpid(), version=__version__))
        if self._listener is not None and self._idle_exit_s > 0:
            self.clock.later(self._idle_exit_s, self.handle, _IdleDue())
        if self._listener is not None:
            self.clock.later(HOME_LOOK_S, self.handle, _HomeDue())

    def receive_own(self, message: object) -> None:
        """Leave when nothing has been wanted for long enough, or when there is no state home any more."""
        match message:
            case _IdleDue():
                self._look_at_idleness()
            case _HomeDue():
                self._look_at_home()
            case _:
                super().receive_own(message)

    def _look_at_home(self) -> None:
        if not self.services.lock.displaced:
            self.clock.later(HOME_LOOK_S, self.handle, _HomeDue())
            return
        log.error("the state home is gone, or another is in its place: leaving; delegates are left running")
        self.handle.tell(Stop("shutdown"))

    def _look_at_idleness(self) -> None:
        idle_s = self._dispatcher.activity.idle_s()
        wanted = self._dispatcher.live_jobs() or self.services.heartbeat_watch.waiting
        if idle_s >= self._idle_exit_s and not wanted:
            log.info("idle for %.0f s: leaving", idle_s)
            self.handle.tell(Stop("idle"))
            return
        wait_s = self._idle_exit_s - idle_s if idle_s < self._idle_exit_s else self._idle_exit_s
        self.clock.later(max(1.0, wait_s), self.handle, _IdleDue())

    def stopping(self, reason: str) -> None:
        """Say why in the journal, as its last fact, and take the tree down in reverse order."""
        self.services.stopping.set()
        if self.stop_reason == "crash":
            self.stop_reason = reason
            word = reason if reason in ("restart", "shutdown", "cancel", "idle") else "shutdown"
            if self._listener is not None:
                self._append(SupervisorStopped(pid=os.getpid(), reason=word))
        super().stopping(reason)

    def child_ended(self, name: str, error: str | None, *, restarted: bool) -> None:
        """Journal the crash of a part, once the journal stands again."""
        if error is not None and name != "journal":
            self._append(ChildCrashed(child=name, error=error[:500], restarted=restarted))

    def _append(self, fact: SupervisorStarted | SupervisorStopped | ChildCrashed) -> None:
        self.directory.tell("journal", Append(writer="root", epoch=next(self.services.epochs), facts=(fact,)))
