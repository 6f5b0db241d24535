"""A group's life: every transition in one table, and the pure step over it.

    machine, effects = step(machine, Looked({"...": Place.ENDED}), policy)

Two rules. An event that the table does not know for a phase raises ``IllegalEvent`` and changes nothing. A
member only ever goes on (waiting, released, ended): what the store said earlier never takes back what is
known since, so that no member is released twice and none is counted as running that is not.

Whose turn it is has two halves: the group's own bound is here, what the machine bears (a lane's slots, the
memory) is asked for with ``Claim`` and comes back as ``Granted``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum


class Place(IntEnum):
    """Where a member is. Only ever upwards."""

    WAITING = 0
    RELEASED = 1
    """It was its turn: it is in the jobs' queue, or runs."""
    ENDED = 2


class Phase(StrEnum):
    """Where the group is."""

    RUNNING = "running"
    CANCELING = "canceling"
    """Its end was asked for: nobody is released any more."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Member:
    """A member as the machine sees it."""

    lane: str
    place: Place = Place.WAITING


@dataclass(frozen=True, slots=True)
class Policy:
    """Bounds of one group."""

    most: int
    """Most members that are released and have not ended."""


@dataclass(frozen=True, slots=True)
class FanoutMachine:
    """A group: its members in their order, by job id."""

    members: Mapping[str, Member]
    phase: Phase = Phase.RUNNING

    def released(self) -> Counter[str]:
        """Return how many members of each lane are at work."""
        return Counter(one.lane for one in self.members.values() if one.place is Place.RELEASED)


# --- events


@dataclass(frozen=True, slots=True)
class Looked:
    """What the store says of members now. One that is not named is where it was."""

    places: Mapping[str, Place]
    canceling: bool = False


@dataclass(frozen=True, slots=True)
class Granted:
    """So many of a lane may start now."""

    lane: str
    count: int


Event = Looked | Granted


# --- effects


@dataclass(frozen=True, slots=True)
class Claim:
    """Ask for room for so many members of a lane."""

    lane: str
    count: int


@dataclass(frozen=True, slots=True)
class Release:
    """Journal that it is these members' turn, then let Jobs have them."""

    job_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """Journal the group's end."""


Effect = Claim | Release | Finish


class IllegalEvent(Exception):  # noqa: N818 - named for what happened
    """An event that can't happen in this phase: a bug, so the actor crashes on it."""


TRANSITIONS: Mapping[Phase, Mapping[type[Event], frozenset[Phase]]] = {
    Phase.RUNNING: {
        Looked: frozenset({Phase.RUNNING, Phase.CANCELING, Phase.ENDED}),
        Granted: frozenset({Phase.RUNNING}),
    },
    Phase.CANCELING: {
        Looked: frozenset({Phase.CANCELING, Phase.ENDED}),
        Granted: frozenset({Phase.CANCELING}),
    },
    Phase.ENDED: {Looked: frozenset({Phase.ENDED}), Granted: frozenset({Phase.ENDED})},
}
"""Phase → event → the phases it may lead to."""

Step = tuple[FanoutMachine, tuple[Effect, ...]]


def step(machine: FanoutMachine, event: Event, policy: Policy) -> Step:
    """Return the machine after ``event``, and what is to be done. Raises IllegalEvent, changing nothing."""
    row = TRANSITIONS[machine.phase]
    if type(event) not in row:
        raise IllegalEvent(f"{type(event).__name__} in phase {machine.phase.value}")
    after, effects = _looked(machine, event, policy) if isinstance(event, Looked) else _granted(machine, event, policy)
    if after.phase not in row[type(event)]:
        raise IllegalEvent(f"{type(event).__name__}: {machine.phase.value} to {after.phase.value}")
    return after, effects


def _looked(machine: FanoutMachine, event: Looked, policy: Policy) -> Step:
    members = dict(machine.members)
    for job_id, place in event.places.items():
        known = members.get(job_id)
        if known is not None and place > known.place:
            members[job_id] = replace(known, place=place)
    if all(member.place is Place.ENDED for member in members.values()):
        ended = machine.phase is Phase.ENDED
        return FanoutMachine(members, Phase.ENDED), () if ended else (Finish(),)
    phase = Phase.CANCELING if event.canceling and machine.phase is Phase.RUNNING else machine.phase
    after = FanoutMachine(members, phase)
    return after, _claims(after, policy)


def _granted(machine: FanoutMachine, event: Granted, policy: Policy) -> Step:
    """Release as many as were granted and the group's own bound allows, in the members' order."""
    if machine.phase is not Phase.RUNNING:
        return machine, ()
    count = min(event.count, policy.most - machine.released().total())
    waiting = (
        job_id
        for job_id, member in machine.members.items()
        if member.lane == event.lane and member.place is Place.WAITING
    )
    chosen = tuple(job_id for job_id, _ in zip(waiting, range(count), strict=False))
    if not chosen:
        return machine, ()
    members = dict(machine.members)
    for job_id in chosen:
        members[job_id] = replace(members[job_id], place=Place.RELEASED)
    return replace(machine, members=members), (Release(chosen),)


def _claims(machine: FanoutMachine, policy: Policy) -> tuple[Effect, ...]:
    """Ask for room for whoever waits, in the members' order, as far as the group's own bound goes."""
    if machine.phase is not Phase.RUNNING:
        return ()
    waiting = [member.lane for member in machine.members.values() if member.place is Place.WAITING]
    if policy.most <= machine.released().total() or not waiting:
        return ()
    # Every lane with somebody waiting is asked: where one has no room, another's members need not wait for it.
    room = policy.most - machine.released().total()
    return tuple(Claim(lane, min(count, room)) for lane, count in Counter(waiting).items())
