"""One group as an actor: whose turn it is, and when all have ended. A thin shell around the group machine.

Its members are ordinary jobs. It is told that something may have happened and reads the store; so an actor or a
supervisor that dies in the middle loses nothing: a member whose turn was journalled is in the jobs' queue again
by itself, and one whose turn was not gets it once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_never

from ..messages.group import FanoutEnded, FanoutMemberReleased, GroupRecord
from ..messages.internal import FactsCommitted
from ..state import fanout_machine as machine
from ..state.affordable import affordable
from ..state.fanout_machine import FanoutMachine, Member, Phase, Place, Policy
from ..state.groups_reader import group, member_records, member_states
from ..state.reader import Reader
from .base import Actor
from .group_names import GroupOver, JobMoved, Release, RoomCame
from .journal_writer import JournalWriter
from .memory_book import free_memory, measured
from .services import Services
from .tree import in_background

LOOK_S = 5.0
"""How often the store is looked at without a hint."""
GATHER_S = 0.01
"""How long hints are gathered before the store is looked at for them."""
YOUNG_S = 20.0
"""How long a started job may take until its memory is seen in what is free."""


@dataclass(frozen=True, slots=True)
class _LookDue:
    pass


@dataclass(frozen=True, slots=True)
class _Pulse:
    pass


@dataclass(frozen=True, slots=True)
class _Measured:
    used: dict[str, int]


class Fanout(Actor):
    """See the module."""

    def __init__(self, *, record: GroupRecord, services: Services, epoch: int, **common: Any) -> None:  # noqa: ANN401  the base class's
        super().__init__(**common)
        self.record = record
        self.services = services
        self._writer: JournalWriter[Callable[[], None]] = JournalWriter(self, epoch)
        self._policy = Policy(record.most)
        self._look_due = False
        self._timers: list[int] = []
        self._queued: set[str] = set()
        """Lanes in whose queue it may stand."""
        self._young: deque[tuple[float, str]] = deque()
        """When and on which lane members were released, of late."""
        self._measuring = False
        self._over = False
        self.machine = FanoutMachine({one.job_id: Member(one.lane) for one in record.members})

    def started(self) -> None:
        """Find out where everyone is; hand over again whose turn it was already."""
        with Reader(self.services.home.database) as reader:
            places = self._places(reader)
        known = FanoutMachine(
            {
                job_id: Member(member.lane, places.get(job_id, Place.ENDED))
                for job_id, member in self.machine.members.items()
            }
        )
        self.machine = known
        again = tuple(job_id for job_id, member in known.members.items() if member.place is Place.RELEASED)
        if again:
            self.services.directory.tell("jobs", Release(again))
        self._look()
        self._later(LOOK_S, _Pulse())

    def receive(self, message: object) -> None:
        """One flat match over what a group can be told."""
        match message:
            case JobMoved() | RoomCame():
                self._look_soon()
            case _LookDue():
                self._look_due = False
                self._look()
            case _Pulse():
                self._look()
                self._measure()
                if not self._over:
                    self._later(LOOK_S, _Pulse())
            case _Measured(used=used):
                self._measuring = False
                self.services.memory.saw(used)
            case FactsCommitted(token=token):
                then = self._writer.settled(token)
                if then is not None:
                    then()
            case _:
                super().receive(message)

    def stopping(self, reason: str) -> None:  # noqa: ARG002  the same for every reason
        """Leave; the next supervisor takes the group up."""
        for timer in self._timers:
            self.services.clock.forget(timer)
        self.finished()

    # --- looking

    def _look_soon(self) -> None:
        if not self._look_due and not self._over:
            self._look_due = True
            self._later(GATHER_S, _LookDue())

    def _look(self) -> None:
        if self._over:
            return
        with Reader(self.services.home.database) as reader:
            places = self._places(reader)
            kept = group(reader, self.record.group_id)
        gone = {job_id: Place.ENDED for job_id in self.machine.members if job_id not in places}
        canceling = bool(kept and kept.get("cancel_requested")) or self.services.stopping.is_set()
        self._step(machine.Looked({**places, **gone}, canceling))
        self._settle()

    def _places(self, reader: Reader) -> dict[str, Place]:
        states = member_states(reader, self.record.group_id)
        return {
            job_id: Place.ENDED if ended else Place.WAITING if parked else Place.RELEASED
            for job_id, (ended, parked) in states.items()
        }

    def _settle(self) -> None:
        """Say what is at work now, and leave the queues of lanes of which nothing is wanted."""
        if self._over:
            return
        self.services.slots.declare(self.record.group_id, self.machine.released())
        waiting = {one.lane for one in self.machine.members.values() if one.place is Place.WAITING}
        full = self.machine.released().total() >= self._policy.most
        for lane in [lane for lane in self._queued if lane not in waiting or full]:
            self._queued.discard(lane)
            self.services.slots.unqueue(self.record.group_id, lane)

    def _step(self, event: machine.Event) -> None:
        self.machine, effects = machine.step(self.machine, event, self._policy)
        if isinstance(event, machine.Looked):  # before it claims: what its own ended members held is free
            self.services.slots.declare(self.record.group_id, self.machine.released())
        for effect in effects:
            match effect:
                case machine.Claim(lane=lane, count=count):
                    self._claim(lane, count)
                case machine.Release(job_ids=job_ids):
                    self._release(job_ids)
                case machine.Finish():
                    self._finish()
                case _:
                    assert_never(effect)

    # --- whose turn it is

    def _claim(self, lane: str, count: int) -> None:
        if self.machine.phase is not Phase.RUNNING:
            return
        now = self.services.clock.now().mono
        while self._young and self._young[0][0] < now - YOUNG_S:
            self._young.popleft()
        at_work = self.machine.released().total()
        wanted = affordable(
            min(count, self._policy.most - at_work),
            free=free_memory() if self.services.memory.need(lane) else None,
            need=self.services.memory.need(lane),
            young=sum(1 for _, young in self._young if young == lane),
            at_work=at_work,
        )
        if wanted <= 0:
            return  # the next look, or the next end, tries again
        pace = self.services.slots.pace(lane, capped=self.record.capped)
        grant = self.services.slots.claim(self.record.group_id, lane, wanted, pace, now)
        if grant.count < wanted:
            self._queued.add(lane)
        if grant.again_s is not None:
            self._later(grant.again_s, RoomCame())
        if grant.count:
            self._young.extend((now, lane) for _ in range(grant.count))
            self._step(machine.Granted(lane, grant.count))

    def _release(self, job_ids: tuple[str, ...]) -> None:
        facts = [FanoutMemberReleased(group_id=self.record.group_id, job_id=job_id) for job_id in job_ids]
        self._journal(facts, lambda: self._hand_over(job_ids))

    def _hand_over(self, job_ids: tuple[str, ...]) -> None:
        self.services.directory.tell("jobs", Release(job_ids))

    def _finish(self) -> None:
        self._over = True
        self.services.slots.forget(self.record.group_id)
        self._journal([FanoutEnded(group_id=self.record.group_id)], self._leave)

    def _leave(self) -> None:
        self.services.directory.tell("crews", GroupOver(self.record.group_id))
        self.stopping("over")

    # --- small things

    def _measure(self) -> None:
        """Look at the memory of who is at work, in the background."""
        if self._measuring or self._over:
            return
        with Reader(self.services.home.database) as reader:
            rows = member_records(reader, self.record.group_id).values()
        jobs = [
            (str(row["lane"]), int(row["delegate"]["pid"]))
            for row in rows
            if row.get("ended") is None and isinstance(row.get("delegate"), dict)
        ]
        if jobs:
            self._measuring = True
            in_background(
                f"memory:{self.record.group_id}",
                self.handle,
                lambda: _Measured(measured(jobs)),
                otherwise=_Measured({}),
            )

    def _later(self, seconds: float, message: object) -> None:
        self._timers = [*self._timers[-8:], self.services.clock.later(seconds, self.handle, message)]

    def _journal(self, facts: list[Any], then: Callable[[], None]) -> None:
        self._writer.append(facts, then)
