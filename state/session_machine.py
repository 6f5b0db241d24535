"""A session's life: every transition in one table, and the pure step over it.

    machine, effects = step(machine, Seen(SessionState.IDLE, "init"))

Two rules. An event that the table does not know for a state raises ``IllegalEvent`` and changes nothing.
A session is only over (``exited``, ``lost``) when its process tree was asked to end and that was answered:
so ``Over`` and two looks without a holder first ask for that end, and ``TreeGone`` makes it true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto

from ..messages.vocabulary import SessionState

MOST_HOLDERS = 5
"""So many holders of one program that died are replaced; then its session is lost like any other."""
TICKS_TO_LOSE = 2
"""So many looks in a row that find no holder make a session lost: one may fall between two processes."""


class Effect(Enum):
    """What the actor is to do."""

    RECORD_STATE = auto()
    """Journal the state and its evidence."""
    CLOSE = auto()
    """Ask the holder to end the delegate and leave."""
    END_TREE = auto()
    """End what is left of holder and delegate; then ``TreeGone``."""
    RECORD_END = auto()
    """Journal the end."""
    LAUNCH = auto()
    """Ask for a holder of the machine's attempt."""
    HOLD_AGAIN = auto()
    """Journal the machine's attempt, and ask for a holder that joins the program that still runs."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The holder said what state the delegate is in."""

    state: SessionState
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class StopAsked:
    """Somebody asked for its end, or it was idle for too long."""

    cause: str


@dataclass(frozen=True, slots=True)
class Present:
    """A look found the holder alive."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A look found no holder, and no exit record."""


@dataclass(frozen=True, slots=True)
class Orphaned:
    """As ``Missing``, but its program runs on in a terminal that another holder can join."""


@dataclass(frozen=True, slots=True)
class Over:
    """The exit record of this attempt is there: the delegate has ended, or never began."""

    reason: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class TreeGone:
    """The tree was ended; ``survivors`` would not go."""

    survivors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Relaunched:
    """Its program is to be started anew."""

    attempt: int


Event = Seen | StopAsked | Present | Missing | Orphaned | Over | TreeGone | Relaunched


@dataclass(frozen=True, slots=True)
class SessionMachine:
    """A session as its machine sees it."""

    state: SessionState = SessionState.STARTING
    evidence: str | None = None
    attempt: int = 1
    missed: int = 0
    """Looks in a row that found no holder."""
    joined: int = 0
    """Holders that took over a program whose own had died."""
    cause: str | None = None
    """Why it is being ended, once it is."""
    end: SessionState | None = None
    """What it will be once its tree is gone."""
    reason: str | None = None
    exit_code: int | None = None
    survivors: tuple[int, ...] = ()


class IllegalEvent(Exception):  # noqa: N818 - named for what happened
    """An event that the state does not know."""


_ANY_LIVE = frozenset(state for state in SessionState if not state.ended)
_ENDS = frozenset({SessionState.EXITED, SessionState.LOST})
_STAYS: frozenset[SessionState] = frozenset()

_LIVE: Mapping[type[Event], frozenset[SessionState]] = {
    Seen: _ANY_LIVE,
    StopAsked: _STAYS,
    Present: _STAYS,
    Missing: _STAYS,
    Orphaned: frozenset({SessionState.STARTING}),
    Over: _STAYS,
    TreeGone: _ENDS,
}
_OVER: Mapping[type[Event], frozenset[SessionState]] = {
    StopAsked: _STAYS,
    Present: _STAYS,
    Missing: _STAYS,
    Orphaned: _STAYS,
    Over: _STAYS,
    TreeGone: _STAYS,
    Relaunched: frozenset({SessionState.STARTING}),
}
TRANSITIONS: Mapping[SessionState, Mapping[type[Event], frozenset[SessionState]]] = {
    **dict.fromkeys(sorted(_ANY_LIVE), _LIVE),
    **dict.fromkeys(sorted(_ENDS), _OVER),
}
"""State → event → the states it may lead to; none: it stays. ``Seen`` of an ended session is no news of it."""

Step = tuple[SessionMachine, tuple[Effect, ...]]


def step(machine: SessionMachine, event: Event) -> Step:
    """Return the machine after ``event``, and what is to be done. Raises IllegalEvent, changing nothing."""
    allowed = TRANSITIONS[machine.state].get(type(event))
    if allowed is None:
        raise IllegalEvent(f"{type(event).__name__} in state {machine.state}")
    after, effects = _over(machine, event) if machine.state.ended else _live(machine, event)
    if after.state is not machine.state and after.state not in allowed:
        raise IllegalEvent(f"{type(event).__name__} leads from {machine.state} to {after.state}")
    return after, effects


def _over(machine: SessionMachine, event: Event) -> Step:
    if isinstance(event, Relaunched):
        return SessionMachine(attempt=event.attempt), (Effect.LAUNCH,)
    return machine, ()


def _live(machine: SessionMachine, event: Event) -> Step:  # noqa: PLR0911 - one an event
    match event:
        case Seen(state=state, evidence=evidence):
            if state.ended or (state, evidence) == (machine.state, machine.evidence):
                return machine, ()
            return replace(machine, state=state, evidence=evidence), (Effect.RECORD_STATE,)
        case StopAsked(cause=cause):
            return (machine, ()) if machine.cause else (replace(machine, cause=cause), (Effect.CLOSE,))
        case Present():
            return replace(machine, missed=0), ()
        case Missing():
            return _missing(machine)
        case Orphaned():
            return _orphaned(machine)
        case Over():
            return _ending(machine, SessionState.EXITED, machine.cause or event.reason, event.exit_code)
        case TreeGone(survivors=survivors):
            end = machine.end or (SessionState.EXITED if machine.cause else SessionState.LOST)
            reason = machine.reason or machine.cause or "its holder died"
            over = replace(machine, state=end, reason=reason, survivors=survivors, evidence=None)
            return over, (Effect.RECORD_END,)
        case _:
            raise IllegalEvent(f"{type(event).__name__} in a live state")


def _missing(machine: SessionMachine) -> Step:
    if machine.end is not None:
        return machine, ()
    machine = replace(machine, missed=machine.missed + 1)
    if machine.missed < TICKS_TO_LOSE:
        return machine, ()
    if machine.cause is not None:  # its end was asked for, and it is not there: nothing was lost
        return _ending(machine, SessionState.EXITED, machine.cause, None)
    return _ending(machine, SessionState.LOST, "its holder died", None)


def _orphaned(machine: SessionMachine) -> Step:
    if machine.end is not None or machine.cause is not None or machine.joined >= MOST_HOLDERS:
        return _missing(machine)
    if machine.missed + 1 < TICKS_TO_LOSE:
        return replace(machine, missed=machine.missed + 1), ()
    again = SessionMachine(attempt=machine.attempt + 1, joined=machine.joined + 1)
    return again, (Effect.HOLD_AGAIN,)


def _ending(machine: SessionMachine, end: SessionState, reason: str, exit_code: int | None) -> Step:
    if machine.end is not None:
        return machine, ()
    return replace(machine, end=end, reason=reason, exit_code=exit_code), (Effect.END_TREE,)
