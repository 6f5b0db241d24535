"""The life of one job: every transition in one table, every decision in ``step``.

Two rules:

1. All transitions of a job are in ``TRANSITIONS``. Nobody else assigns a job's state. An event that
   the table does not know for a state raises :class:`IllegalEvent` and changes nothing.
2. Nothing here reads a clock, a file or a process. What was seen comes in as an event, time comes in
   as :class:`Now`, what is to be done goes out as effects.

Time inside the machine is *watched seconds*: monotonic time while somebody was watching. A gap (the
laptop slept, the VM paused, the supervisor was down) is credited as one poll at most, so nobody is
ended for the time when nobody looked. When silence means trouble is in ``watchdog.py``; this file
only decides what follows.

    machine, effects = step(machine, Spawned(), now, policy)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, assert_never

from ..messages.vocabulary import TERMINAL_STATES, JobState
from .watchdog import Cause, Policy, Watch, alarm, close_look_due, next_deadline_s


class IllegalEvent(Exception):
    """An event that can't happen in this state: a bug, so the actor crashes on it."""


@dataclass(frozen=True, slots=True)
class Now:
    """Both clocks, in seconds. They drift apart when the machine sleeps or the wall clock is set."""

    wall: float
    mono: float


class ProcessState(StrEnum):
    """What the kernel says of a process that our records name by pid, start time and boot."""

    RUNNING = "running"
    STOPPED = "stopped"
    ZOMBIE = "zombie"
    GONE = "gone"


# --- events: what was seen -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SlotGranted:
    """The queue lets the job start."""


@dataclass(frozen=True, slots=True)
class Relaunched:
    """A launch was proved never to have happened (its claim was still free): the next attempt may start."""


@dataclass(frozen=True, slots=True)
class Spawned:
    """The delegate's process exists."""


@dataclass(frozen=True, slots=True)
class Life:
    """Output came. Flags say what it proved."""

    initialised: bool = False
    wrote: bool = False
    acted: bool = False
    """The delegate spoke or called a tool: an earlier final event was not final."""


@dataclass(frozen=True, slots=True)
class FinalSeen:
    """The CLI's own final event came; the process should leave by itself now."""


@dataclass(frozen=True, slots=True)
class LimitWait:
    """The CLI says that it waits for its provider."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A signed NEED_INPUT marker came and the process is still there."""


@dataclass(frozen=True, slots=True)
class Hopeless:
    """What the CLI is doing can't succeed (it retries a rejected key, it meets only refusals)."""

    cause: Cause


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed; the delegate's process was looked at."""

    process: ProcessState


@dataclass(frozen=True, slots=True)
class Looked:
    """The answer to a ``LookClosely`` effect."""

    files: bool
    """Something under the work tree changed since the last sign of life."""
    busy: bool
    """The process tree used a noticeable share of a processor since the last look."""


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """Somebody asked for the end of the job."""

    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Exited:
    """The delegate's process is gone; the exit record, if there is one, is on disk."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on all evidence (``lanes/outcome.py``)."""

    state: JobState


@dataclass(frozen=True, slots=True)
class Revised:
    """Evidence that came after a watchdog's or a lost exit's verdict, of the same attempt."""

    state: JobState
    attempt: int


Event = (
    SlotGranted
    | Relaunched
    | Spawned
    | Life
    | FinalSeen
    | LimitWait
    | Asked
    | Hopeless
    | Tick
    | Looked
    | CancelRequested
    | Exited
    | Judged
    | Revised
)


# --- effects: what is to be done --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Launch:
    """Ask for a shim for this attempt; the decision must be journalled first."""

    attempt: int


@dataclass(frozen=True, slots=True)
class LookClosely:
    """Look at files and processor time; answer with ``Looked``."""


@dataclass(frozen=True, slots=True)
class EndTree:
    """End the delegate and everything it started."""

    cause: Cause
    grace_s: float


@dataclass(frozen=True, slots=True)
class Judge:
    """Read what is left of the output, then answer with ``Judged``."""


@dataclass(frozen=True, slots=True)
class Announce:
    """Say this to whoever watches."""

    sentence: str


Effect = Launch | LookClosely | EndTree | Judge | Announce


# --- the table ----------------------------------------------------------------------------------

S = JobState
RUNNING_STATES = frozenset({S.RUNNING, S.STALLED, S.EXPLORING, S.NO_PROGRESS_WRITES, S.WAITING_LIMIT, S.NEEDS_ANSWER})
REVOCABLE = frozenset({S.WEDGED, S.TIMEOUT, S.INTERRUPTED, S.FAILED})
"""Verdicts that later evidence of the same attempt may replace."""

DOUBTS = (S.RUNNING, S.EXPLORING, S.NO_PROGRESS_WRITES, S.STALLED)
"""Live states in which a tick may show a doubt, from none to the gravest; a graver one replaces a lighter one."""

_VERDICTS = frozenset(TERMINAL_STATES)


def _running_row(state: JobState) -> dict[type[Event], frozenset[JobState]]:
    back = frozenset({S.RUNNING, state})
    return {
        Life: back,
        FinalSeen: back,
        LimitWait: frozenset({S.WAITING_LIMIT}),
        Asked: frozenset({S.NEEDS_ANSWER}),
        Hopeless: frozenset({state}),
        Tick: frozenset({S.RUNNING, S.STALLED, S.EXPLORING, S.NO_PROGRESS_WRITES, state}),
        Looked: frozenset({S.RUNNING, S.STALLED, S.EXPLORING, S.NO_PROGRESS_WRITES, state}),
        CancelRequested: frozenset({state}),
        Exited: frozenset({state}),
        Judged: _VERDICTS,
    }


TRANSITIONS: Mapping[JobState, Mapping[type[Event], frozenset[JobState]]] = {
    S.QUEUED: {
        SlotGranted: frozenset({S.LAUNCHING}),
        CancelRequested: frozenset({S.CANCELED}),
        Tick: frozenset({S.QUEUED}),
        Judged: _VERDICTS,
    },
    S.LAUNCHING: {
        Relaunched: frozenset({S.LAUNCHING, S.CANCELED}),
        Spawned: frozenset({S.RUNNING}),
        CancelRequested: frozenset({S.LAUNCHING}),
        Tick: frozenset({S.LAUNCHING}),
        Looked: frozenset({S.LAUNCHING}),
        Exited: frozenset({S.LAUNCHING}),
        Judged: _VERDICTS,
    },
    **{state: _running_row(state) for state in sorted(RUNNING_STATES)},
    **{
        state: {
            CancelRequested: frozenset({state}),
            Tick: frozenset({state}),
            Looked: frozenset({state}),
            **({Revised: frozenset({S.DONE, S.DONE_UNVERIFIED, S.BLOCKED, state})} if state in REVOCABLE else {}),
        }
        for state in sorted(TERMINAL_STATES)
    },
}
"""state → event → the states it may lead to. ``step`` chooses; it can't leave this table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMachine:
    """A job as its machine sees it. Times are watched seconds."""

    state: JobState = JobState.QUEUED
    attempt: int = 0
    mono: float | None = None
    """Monotonic time of the last event, for the next one's difference."""
    watch: Watch = Watch()
    cause: Cause | None = None
    """Why the tree is being ended, once it is."""
    kills: int = 0
    """How often the end of the tree was asked for."""
    exited: bool = False
    stopped: bool = False
    missing: int = 0
    """Ticks in a row in which the delegate was a zombie or gone with no exit seen."""

    @property
    def ended(self) -> bool:
        """Whether the verdict is in."""
        return self.state.terminal


def snapshot(machine: JobMachine) -> dict[str, Any]:
    """Return the machine as JSON values, for the next supervisor."""
    return asdict(machine)


def restore(values: Mapping[str, Any]) -> JobMachine:
    """Return the machine of a snapshot; what is unknown or malformed in it is left at its default.

    The monotonic time is dropped: it means nothing to another process, so the gap is not counted.
    """
    watch = Watch()
    raw = values.get("watch")
    if isinstance(raw, Mapping):
        known = {f.name: raw[f.name] for f in fields(Watch) if type(raw.get(f.name)) is type(f.default)}
        watch = replace(watch, **known)
    try:
        state = JobState(values.get("state", JobState.QUEUED))
        cause = Cause(values["cause"]) if values.get("cause") else None
        attempt = int(values.get("attempt", 0))
    except (ValueError, TypeError):
        return JobMachine()
    return JobMachine(state=state, attempt=attempt, watch=watch, cause=cause)


def recall(machine: JobMachine, *, initialised: bool, wrote: bool) -> JobMachine:
    """Return the machine with what an earlier supervisor had already heard; it counts as no new sign of life."""
    watch = machine.watch
    return replace(
        machine,
        watch=replace(watch, initialised=watch.initialised or initialised, wrote=watch.wrote or wrote),
    )


def step(machine: JobMachine, event: Event, now: Now, policy: Policy) -> tuple[JobMachine, tuple[Effect, ...]]:
    """Return the next machine and what is to be done.

    Raises IllegalEvent, with nothing changed, when the table has no such event for the state.
    """
    row = TRANSITIONS[machine.state]
    if type(event) not in row:
        raise IllegalEvent(f"{type(event).__name__} in state {machine.state.value}")
    advanced, gap = _advance(machine, now, policy)
    result, effects = _decide(advanced, event, policy)
    if result.state not in row[type(event)]:
        raise IllegalEvent(f"{type(event).__name__}: {machine.state.value} to {result.state.value}")
    if gap:
        effects = (Announce(f"clock gap of {gap:.0f} s (sleep or pause): not counted against the job"), *effects)
    return result, effects


def next_tick_s(machine: JobMachine, policy: Policy) -> float:
    """Seconds until the machine wants its next ``Tick``: the poll, or a deadline if that is nearer."""
    if machine.state not in RUNNING_STATES:
        return policy.poll_s
    return next_deadline_s(machine.watch, policy)


def _advance(machine: JobMachine, now: Now, policy: Policy) -> tuple[JobMachine, float]:
    """Credit the time since the last event; return the machine and the gap that was not credited."""
    passed = 0.0 if machine.mono is None else max(0.0, now.mono - machine.mono)
    gap = 0.0
    if machine.state not in RUNNING_STATES or machine.stopped:
        credited = 0.0 if machine.state not in RUNNING_STATES else min(passed, policy.poll_s)
    elif passed > policy.max_gap_s:
        credited, gap = min(passed, policy.poll_s), passed - policy.poll_s
    else:
        credited = passed
    waiting = machine.state in (JobState.WAITING_LIMIT, JobState.NEEDS_ANSWER)
    return replace(machine, mono=now.mono, watch=machine.watch.older(credited, silent=not waiting)), gap


def _decide(machine: JobMachine, event: Event, policy: Policy) -> tuple[JobMachine, tuple[Effect, ...]]:  # noqa: C901, PLR0911, PLR0912  one flat match, a line or a call per event
    match event:
        case SlotGranted():
            attempt = machine.attempt + 1
            return replace(machine, state=S.LAUNCHING, attempt=attempt), (Launch(attempt),)
        case Relaunched():
            if machine.cause is not None:
                return replace(machine, state=S.CANCELED), ()
            attempt = machine.attempt + 1
            return replace(machine, attempt=attempt), (Launch(attempt),)
        case Spawned():
            spawned = replace(machine, state=S.RUNNING, watch=Watch())
            return spawned, (EndTree(machine.cause, policy.kill_grace_s),) if machine.cause else ()
        case Life():
            return _life(machine, event)
        case FinalSeen():
            final_s = machine.watch.final_s
            watch = replace(machine.watch.alive(), initialised=True, final_s=0.0 if final_s is None else final_s)
            return replace(machine, state=S.RUNNING, watch=watch), ()
        case LimitWait():
            return replace(machine, state=S.WAITING_LIMIT, watch=replace(machine.watch.alive(), initialised=True)), ()
        case Asked():
            return replace(machine, state=S.NEEDS_ANSWER, watch=machine.watch.alive()), ()
        case Hopeless(cause=cause):
            return _end(machine, cause, policy)
        case Tick(process=process):
            return _tick(machine, process, policy)
        case Looked():
            return _looked(machine, event, policy)
        case CancelRequested(at_once=at_once):
            return _cancel(machine, policy, at_once=at_once)
        case Exited():
            return (machine, ()) if machine.exited else (replace(machine, exited=True), (Judge(),))
        case Judged(state=state):
            return replace(machine, state=state), ()
        case Revised(state=state, attempt=attempt):
            return (replace(machine, state=state), ()) if attempt == machine.attempt else (machine, ())
        case _:
            assert_never(event)


def _life(machine: JobMachine, event: Life) -> tuple[JobMachine, tuple[Effect, ...]]:
    watch = machine.watch.alive(initialised=event.initialised, wrote=event.wrote)
    if event.acted:
        watch = replace(watch, final_s=None)
    unwritten = machine.state in (S.EXPLORING, S.NO_PROGRESS_WRITES) and not watch.wrote
    quiet_wait = machine.state in (S.WAITING_LIMIT, S.NEEDS_ANSWER) and not event.acted
    state = machine.state if unwritten or quiet_wait else S.RUNNING
    return replace(machine, state=state, watch=watch), ()


def _end(machine: JobMachine, cause: Cause, policy: Policy) -> tuple[JobMachine, tuple[Effect, ...]]:
    """Ask for the end of the tree, once: the first cause is the cause."""
    if machine.cause is not None or machine.exited:
        return machine, ()
    return replace(machine, cause=cause, kills=1), (EndTree(cause, policy.kill_grace_s),)


def _cancel(machine: JobMachine, policy: Policy, *, at_once: bool) -> tuple[JobMachine, tuple[Effect, ...]]:
    if machine.ended or machine.exited:
        return machine, ()
    if machine.state is S.QUEUED:
        return replace(machine, state=S.CANCELED, cause=Cause.CANCEL), ()
    if machine.cause is not None and not at_once:
        return machine, ()
    canceled = replace(machine, cause=machine.cause or Cause.CANCEL, kills=machine.kills + 1)
    if machine.state is S.LAUNCHING:
        return canceled, ()
    return canceled, (EndTree(Cause.CANCEL, 0.0 if at_once else policy.kill_grace_s),)


def _tick(machine: JobMachine, process: ProcessState, policy: Policy) -> tuple[JobMachine, tuple[Effect, ...]]:
    if machine.state not in RUNNING_STATES or machine.exited:
        return machine, ()
    if process in (ProcessState.GONE, ProcessState.ZOMBIE):
        seen = replace(machine, missing=machine.missing + 1, stopped=False)
        if seen.missing >= policy.missing_ticks:
            return replace(seen, exited=True), (Judge(),)
        return seen, ()
    machine = replace(machine, missing=0)
    if process is ProcessState.STOPPED:
        stopped = replace(machine, stopped=True, state=S.STALLED)
        said: tuple[Effect, ...] = () if machine.stopped else (Announce("the delegate's process is stopped (SIGSTOP)"),)
        return _raise_alarm(stopped, policy, said)
    if machine.stopped:
        machine = replace(machine, stopped=False, state=S.RUNNING)
    return _raise_alarm(machine, policy, ())


def _raise_alarm(
    machine: JobMachine, policy: Policy, said: tuple[Effect, ...]
) -> tuple[JobMachine, tuple[Effect, ...]]:
    """Follow the watchdog: end the tree, show a doubt, or look closer before either."""
    if machine.cause is not None:
        return machine, said
    if close_look_due(machine.watch, policy) and not machine.stopped:
        return replace(machine, watch=replace(machine.watch, looking=True)), (*said, LookClosely())
    return _follow(machine, policy, said)


def _follow(machine: JobMachine, policy: Policy, said: tuple[Effect, ...]) -> tuple[JobMachine, tuple[Effect, ...]]:
    """Do what the watchdog says now. A doubt that is already shown is not said again."""
    found = alarm(machine.watch, policy)
    machine = replace(machine, watch=found.watch)
    sentence: tuple[Effect, ...] = (Announce(found.sentence),) if found.sentence else ()
    if found.cause is not None:
        ended, effects = _end(machine, found.cause, policy)
        return ended, (*said, *sentence, *effects)
    if found.state is None:
        return machine, (*said, *sentence)
    worse = DOUBTS.index(found.state) > DOUBTS.index(machine.state) if machine.state in DOUBTS else False
    if worse and not machine.stopped:
        return replace(machine, state=found.state), (*said, *sentence)
    return machine, said


def _looked(machine: JobMachine, event: Looked, policy: Policy) -> tuple[JobMachine, tuple[Effect, ...]]:
    if machine.state not in RUNNING_STATES or machine.exited:
        return machine, ()
    looked = replace(machine.watch, looking=False, looked_s=machine.watch.silent_s, looked_age_s=machine.watch.age_s)
    machine = replace(machine, watch=looked)
    if event.files or event.busy:
        watch = looked.alive(initialised=event.files or not policy.streamed, wrote=event.files)
        cleared = {S.STALLED} if not event.files else {S.STALLED, S.EXPLORING, S.NO_PROGRESS_WRITES}
        state = S.RUNNING if machine.state in cleared and not machine.stopped else machine.state
        return replace(machine, watch=watch, state=state), ()
    if machine.cause is not None:
        return machine, ()
    return _follow(machine, policy, ())
