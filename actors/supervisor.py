"""Supervision: who is started, restarted, bounded, given up. No domain word in here.

A supervisor is an actor with children given as data (:class:`ChildSpec`). One crash rule, two
strategies, a budget per child and one for all:

* ``one_for_one``: a crashed child alone is restarted;
* ``rest_for_one``: the children after it are stopped in reverse order first, then, after the crashed
  one's back-off, all are started again in order, because later ones hold what earlier ones gave them.

A child that does not answer a probe within its bound is set aside (its thread can't be killed),
counted as crashed, and replaced. Out of budget, a child is *given up*: by default that crashes the
supervisor itself, which stops its children first and lets its own parent decide.

Where transient faults are tolerated (``transient_faults.py``), what befalls the whole machine costs no budget for a
while: the child is started again at its back-off at first, and then every few seconds. It never costs the budget for
all, because everybody meets it at once: each child is bounded by its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ..state.restart_budget import RestartBudget
from .base import NOT_DONE, Actor, ChildDown, Directory, Handle, Probe, ProbeAnswered, Stop, log
from .clock import Clock
from .transient_faults import PAUSE_S, TransientFaults, is_machine_wide

ROUNDING_S = 0.001
"""A timer may come so much early."""


class Restart(StrEnum):
    """When a child that ended is started again."""

    PERMANENT = "permanent"
    TRANSIENT = "transient"
    """Only after a crash."""
    TEMPORARY = "temporary"


class Strategy(StrEnum):
    """Who is restarted with a crashed child."""

    ONE_FOR_ONE = "one_for_one"
    REST_FOR_ONE = "rest_for_one"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """A child as data."""

    id: str
    start: Callable[[Handle, int], Handle]
    """Called with the supervisor and the incarnation; may raise, which is a crash."""
    restart: Restart = Restart.PERMANENT
    shutdown_s: float = 5.0
    """How long an ordered stop may take before the child is set aside."""
    budget: RestartBudget = field(default_factory=lambda: RestartBudget(5, 30.0))
    stall_s: float | None = 30.0
    """A probe unanswered for so long means stalled; None is never probed."""


@dataclass(slots=True)
class _Child:
    spec: ChildSpec
    budget: RestartBudget
    pace: RestartBudget
    """How soon it is started again after crashes that are tolerated: those cost nothing of its budget."""
    handle: Handle | None = None
    incarnation: int = 0
    probe: int | None = None
    probed_at: float = 0.0
    deadline: int | None = None
    """The clock's token, while an ordered stop is waited for."""
    restarting: bool = False
    """It crashed and is to be started again."""
    over: bool = True
    """The end of this incarnation was dealt with: what it says from now on is late."""


@dataclass(frozen=True, slots=True)
class _RestartDue:
    child: str


@dataclass(frozen=True, slots=True)
class _RestDue:
    pass


@dataclass(frozen=True, slots=True)
class _ProbeDue:
    pass


@dataclass(frozen=True, slots=True)
class _StopOverdue:
    child: str
    incarnation: int


class GaveUp(Exception):  # noqa: N818  it says what happened
    """A supervisor's budget is spent."""


class Supervisor(Actor):
    """An actor that keeps children. Subclasses add children with ``add`` and handle their own messages."""

    def __init__(  # noqa: PLR0913  what it is made of, all by name
        self,
        *,
        clock: Clock,
        specs: Iterable[ChildSpec] = (),
        strategy: Strategy = Strategy.ONE_FOR_ONE,
        budget: RestartBudget | None = None,
        probe_every_s: float = 30.0,
        faults: TransientFaults | None = None,
        **common: Any,  # noqa: ANN401  the base class's
    ) -> None:
        super().__init__(**common)
        self._faults = faults
        """For children that are not given up for what befalls the whole machine."""
        self.clock = clock
        self.strategy = strategy
        self._specs = tuple(specs)
        self._budget = budget or RestartBudget(20, 60.0)
        self._probe_every_s = probe_every_s
        self._children: dict[str, _Child] = {}
        self._tokens = 0
        self._stop_reason: str | None = None
        self._stopping: list[str] = []
        self._rest_at = 0.0
        """Monotonic time before which no stopped rest is started again."""
        self._probed_at = clock.now().mono
        self._crash: str | None = None

    # --- for subclasses

    def add(self, spec: ChildSpec) -> Handle | None:
        """Start one more child. Returns None when its start crashed (its budget then decides).

        Nothing is started any more by one that is stopping: also None.
        """
        if self._stop_reason is not None:
            return None
        child = _Child(spec=spec, budget=spec.budget, pace=spec.budget)
        self._children[spec.id] = child
        self._start(child)
        return child.handle

    def child(self, name: str) -> Handle | None:
        """Return a living child."""
        found = self._children.get(name)
        return found.handle if found else None

    def children(self) -> list[str]:
        """Names of all children, in start order."""
        return list(self._children)

    def gave_up(self, name: str, error: str) -> None:
        """A child's budget is spent. The default is to crash: whoever is above decides."""
        raise GaveUp(f"gave up on {name}: {error}")

    def child_ended(self, name: str, error: str | None, *, restarted: bool) -> None:
        """A child went down; ``error`` is None when it stopped in order. For counting and journalling."""

    def receive_own(self, message: object) -> None:
        """Handle a message that is not about supervision."""
        super().receive(message)

    # --- the actor

    def started(self) -> None:
        """Start the children in order."""
        self._children = {spec.id: _Child(spec=spec, budget=spec.budget, pace=spec.budget) for spec in self._specs}
        self._start_from(0)
        self.clock.later(self._probe_every_s, self.handle, _ProbeDue())

    def receive(self, message: object) -> None:  # noqa: C901  one flat match
        """Supervise, or pass on."""
        match message:
            case ChildDown():
                self._child_down(message)
            case ProbeAnswered(child=name, incarnation=incarnation, token=token):
                child = self._children.get(name)
                if child and child.incarnation == incarnation and child.probe == token:
                    child.probe = None
            case _ProbeDue():
                self._probe()
            case _RestDue():
                self._start_rest()
            case _RestartDue(child=name):
                child = self._children.get(name)
                if child and child.restarting and self._stop_reason is None:
                    self._start(child)
            case _StopOverdue(child=name, incarnation=incarnation):
                child = self._children.get(name)
                if child and child.incarnation == incarnation and child.handle:
                    log.error("%s: %s did not stop in time and is set aside", self.name, name)
                    self._set_aside(child)
                    self._child_down(ChildDown(name, incarnation, None))
            case _ if self._crash is not None or (self._stop_reason is not None and self.query is not None):
                self.reply(NOT_DONE)  # begun now, it would not be over before this supervisor is
            case _:
                self.receive_own(message)

    def stopping(self, reason: str) -> None:
        """Stop the children in reverse order, then this supervisor. One by one where order means something."""
        if self._stop_reason is not None:
            return
        self._stop_reason = reason
        self._stopping = list(self._children)
        self._stop_next(reason)

    # --- inside

    def _start(self, child: _Child) -> None:
        child.restarting = child.over = False
        child.incarnation += 1
        child.probe = None
        try:
            child.handle = child.spec.start(self.handle, child.incarnation)
        except Exception as error:  # noqa: BLE001  a failed start is a crash like any other
            log.exception("%s: %s failed to start", self.name, child.spec.id)
            child.handle = None
            why = f"failed to start: {type(error).__name__}: {error}"
            self.handle.tell(ChildDown(child.spec.id, child.incarnation, why))

    def _start_from(self, index: int) -> None:
        """Start children in order; where later ones need earlier ones, a failed start ends it for now."""
        for child in list(self._children.values())[index:]:
            self._start(child)
            if child.handle is None and self.strategy is Strategy.REST_FOR_ONE:
                return

    def _child_down(self, down: ChildDown) -> None:
        child = self._children.get(down.child)
        if child is None or child.incarnation != down.incarnation or child.over:
            return
        child.over = True
        if child.deadline is not None:
            self.clock.forget(child.deadline)
            child.deadline = None
        if child.handle is not None:
            self.directory.drop(child.handle)
            child.handle = None
        if self._stop_reason is not None:
            self._stop_next(self._stop_reason)
            return
        first = self._first_restarting()
        if first is not None and list(self._children).index(down.child) > first:
            self._stop_rest()
            return
        again = child.spec.restart is Restart.PERMANENT or (child.spec.restart is Restart.TRANSIENT and down.error)
        if not again:
            del self._children[down.child]
            self.child_ended(down.child, down.error, restarted=False)
            return
        self._restart(child, down.error or "stopped")

    def _restart(self, child: _Child, error: str) -> None:
        now = self.clock.now().mono
        delay = self._charge(child, error, now)
        self.child_ended(child.spec.id, error, restarted=delay is not None)
        if delay is None:
            del self._children[child.spec.id]
            self.gave_up(child.spec.id, error)
            return
        child.restarting = True
        if self.strategy is Strategy.REST_FOR_ONE:
            self._rest_at = max(self._rest_at, now + delay)
            self._stop_rest()
        else:
            self.clock.later(delay, self.handle, _RestartDue(child.spec.id))

    def _charge(self, child: _Child, error: str, now: float) -> float | None:
        """Return after how many seconds a crashed child is started again; None when it is to be given up."""
        if self._faults is not None and self._faults.tolerate(child.spec.id, error, now):
            child.pace, delay = child.pace.charge(now)
            if delay is None:
                log.error("%s: %s waits for better times: %s", self.name, child.spec.id, error)
                delay = PAUSE_S
            return delay
        child.budget, delay = child.budget.charge(now)
        if self._faults is None or not is_machine_wide(error):
            self._budget, ours = self._budget.charge(now)
            if ours is None:
                raise GaveUp(f"too many crashes in {self.name}, last {child.spec.id}: {error}")
        return delay

    def _first_restarting(self) -> int | None:
        """Return the place of the first crashed child, in a strategy where it matters."""
        if self.strategy is not Strategy.REST_FOR_ONE:
            return None
        return next((place for place, child in enumerate(self._children.values()) if child.restarting), None)

    def _stop_rest(self) -> None:
        """Stop the next of the children after the crashed one; when all are down, start again after its back-off."""
        first = self._first_restarting()
        for child in reversed(list(self._children.values())[first:]):
            if child.handle is not None:
                if child.deadline is None:
                    self._ask_to_stop(child, "restart")
                return
        self.clock.later(self._rest_at - self.clock.now().mono, self.handle, _RestDue())

    def _start_rest(self) -> None:
        """Start the crashed child and those after it, unless another crash on the way put that off."""
        first = self._first_restarting()
        if first is None or self._stop_reason is not None or self.clock.now().mono < self._rest_at - ROUNDING_S:
            return
        self._start_from(first)

    def _stop_next(self, reason: str) -> None:
        """Ask for the next ends: in reverse order one by one, or all at once where order means nothing."""
        while self._stopping:
            child = self._children.get(self._stopping.pop())
            if child is not None and child.handle is not None:
                self._ask_to_stop(child, reason)
                if self.strategy is Strategy.REST_FOR_ONE:
                    return
        if any(child.handle is not None for child in self._children.values()):
            return
        if self._crash is not None:
            self._go_down(self._crash)
        else:
            self.finished()

    def _ask_to_stop(self, child: _Child, reason: str) -> None:
        assert child.handle is not None  # noqa: S101  for the type checker: both callers looked
        if child.deadline is not None:
            self.clock.forget(child.deadline)
        overdue = _StopOverdue(child.spec.id, child.incarnation)
        child.deadline = self.clock.later(child.spec.shutdown_s, self.handle, overdue)
        if not child.handle.tell(Stop(reason)):
            self.handle.tell(ChildDown(child.spec.id, child.incarnation, None))

    def _set_aside(self, child: _Child) -> None:
        if child.handle is not None:
            child.handle.set_aside()
            self.directory.drop(child.handle)
            child.handle = None

    def _probe(self) -> None:
        now = self.clock.now().mono
        paused = now - self._probed_at > 2 * self._probe_every_s + 5.0
        self._probed_at = now
        for name, child in list(self._children.items()):
            if child.handle is None or child.spec.stall_s is None:
                continue
            if child.probe is None:
                self._tokens += 1
                child.probe, child.probed_at = self._tokens, now
                child.handle.tell(Probe(self._tokens))
            elif paused:
                child.probed_at = now  # the whole machine or process was paused: that was not the child's time
            elif now - child.probed_at >= child.spec.stall_s:
                log.error("%s: %s is stalled (no answer for %.0f s): set aside", self.name, name, now - child.probed_at)
                self._set_aside(child)
                self._child_down(ChildDown(name, child.incarnation, f"stalled for {now - child.probed_at:.0f} s"))
        if self._stop_reason is None:
            self.clock.later(self._probe_every_s, self.handle, _ProbeDue())

    def _guarded(self, work: Callable[[], None]) -> None:
        """A crashing supervisor stops its children first, then goes down with the error.

        A second crash on the way takes it down at once.
        """
        if self._crash is not None:
            super()._guarded(work)
            return
        try:
            work()
        except BaseException as error:  # noqa: BLE001  the crash rule, as in the base class
            log.exception("%s crashed; stopping its children", self.name)
            self._crash = f"{type(error).__name__}: {error}"
            if self._stop_reason is None:
                self._stop_reason = "restart"
                self._stopping = list(self._children)
            reason = self._stop_reason
            super()._guarded(lambda: self._stop_next(reason))


__all__ = ["ChildSpec", "Directory", "GaveUp", "Restart", "Strategy", "Supervisor"]
