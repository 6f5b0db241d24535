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
from dataclasses import asdict, dataclass, field, replace
from typing import Any, assert_never

from ..messages.vocabulary import TERMINAL_STATES, JobState
from .job_events import (
    Announce,
    Asked,
    CancelRequested,
    Effect,
    EndTree,
    Event,
    Exited,
    FinalSeen,
    Hopeless,
    Judge,
    Judged,
    Launch,
    Life,
    LimitWait,
    LookClosely,
    Looked,
    Now,
    ProcessState,
    Relaunched,
    Revised,
    SlotGranted,
    Spawned,
    Tick,
)
from .watchdog import Cause, Policy, Watch, alarm, answer_awaited, close_look_due, next_deadline_s


class IllegalEvent(Exception):  # noqa: N818  it says what happened
    """An event that can't happen in this state: a bug, so the actor crashes on it."""


# --- the table ----------------------------------------------------------------------------------

S = JobState
RUNNING_STATES = frozenset({S.RUNNING, S.STALLED, S.EXPLORING, S.NO_PROGRESS_WRITES, S.WAITING_LIMIT, S.NEEDS_ANSWER})
REVOCABLE = frozenset({S.WEDGED, S.TIMEOUT, S.INTERRUPTED, S.FAILED})
"""Verdicts that later evidence of the same attempt may replace."""

LONGEST_S = 400 * 86400.0
"""No time in a snapshot is believed to be longer."""

DOUBTS = (S.RUNNING, S.EXPLORING, S.NO_PROGRESS_WRITES, S.STALLED)
"""Live states in which a tick may show a doubt, from none to the gravest; a graver one replaces a lighter one."""

_VERDICTS = frozenset(TERMINAL_STATES)
_REVISIONS = frozenset({S.DONE, S.DONE_UNVERIFIED, S.BLOCKED, S.PERMISSION_BLOCKED, S.FAILED})


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
        Relaunched: frozenset({S.LAUNCHING, S.CANCELED, S.FAILED}),
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
            **({Revised: _REVISIONS | {state}} if state in REVOCABLE else {}),
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
    watch: Watch = field(default_factory=Watch)
    cause: Cause | None = None
    """Why the tree is being ended, once it is."""
    forced: bool = False
    """Whether it was to end at once."""
    exited: bool = False
    stopped: bool = False
    missing: int = 0
    """Ticks in a row in which the delegate was a zombie or gone with no exit seen."""
    paused: bool = False
    """The last event came after a gap."""

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
    raw, attempt = values.get("watch"), values.get("attempt", 0)
    try:
        state = JobState(values.get("state", JobState.QUEUED))
        cause = Cause(values["cause"]) if values.get("cause") else None
    except (ValueError, TypeError):
        return JobMachine()
    if type(attempt) is not int or attempt < 0:
        return JobMachine()
    return JobMachine(
        state=state, attempt=attempt, watch=_restored(raw if isinstance(raw, Mapping) else {}), cause=cause
    )


def _restored(raw: Mapping[str, Any]) -> Watch:
    """Return the watch of a snapshot. What was under way (a look, an end) is asked for anew."""

    def flag(name: str) -> bool:
        return raw.get(name) is True

    def seconds(name: str, default: float) -> float:
        value: Any = raw.get(name)
        return float(value) if type(value) in (int, float) and -1.0 <= value <= LONGEST_S else default

    final_s = seconds("final_s", -1.0)
    return Watch(
        age_s=max(0.0, seconds("age_s", 0.0)),
        silent_s=max(0.0, seconds("silent_s", 0.0)),
        initialised=flag("initialised"),
        wrote=flag("wrote"),
        final_s=final_s if final_s >= 0 else None,
        extended=flag("extended"),
        looked_s=seconds("looked_s", -1.0),
        looked_age_s=seconds("looked_age_s", -1.0),
    )


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
    result = _timed(result)
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
    watch = machine.watch.older(credited, silent=not waiting)
    # Nothing is judged right after a gap, but the next event is, also if it comes after one more.
    return replace(machine, mono=now.mono, watch=watch, paused=gap > 0 and not machine.paused), gap


def _timed(machine: JobMachine) -> JobMachine:
    """Return the machine with the time of its tree's end running, from when that was first asked for."""
    if machine.cause is None or machine.watch.ending_s is not None or machine.state not in RUNNING_STATES:
        return machine
    return replace(machine, watch=replace(machine.watch, ending_s=0.0))


def _decide(machine: JobMachine, event: Event, policy: Policy) -> tuple[JobMachine, tuple[Effect, ...]]:  # noqa: C901, PLR0911, PLR0912  one flat match, a line or a call per event
    match event:
        case SlotGranted():
            attempt = machine.attempt + 1
            return replace(machine, state=S.LAUNCHING, attempt=attempt), (Launch(attempt),)
        case Relaunched():
            if machine.cause is not None:
                return replace(machine, state=S.CANCELED), ()
            if machine.attempt >= policy.launches:
                return replace(machine, state=S.FAILED), ()
            attempt = machine.attempt + 1
            return replace(machine, attempt=attempt), (Launch(attempt),)
        case Spawned():
            spawned = replace(machine, state=S.RUNNING, watch=Watch())
            grace_s = 0.0 if machine.forced else policy.kill_grace_s
            return spawned, (EndTree(machine.cause, grace_s),) if machine.cause else ()
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
    return replace(machine, cause=cause), (EndTree(cause, policy.kill_grace_s),)


def _cancel(machine: JobMachine, policy: Policy, *, at_once: bool) -> tuple[JobMachine, tuple[Effect, ...]]:
    if machine.ended or machine.exited:
        return machine, ()
    if machine.state is S.QUEUED:
        return replace(machine, state=S.CANCELED, cause=Cause.CANCEL), ()
    if machine.forced or (machine.cause is not None and not at_once):
        return machine, ()
    canceled = replace(machine, cause=machine.cause or Cause.CANCEL, forced=at_once)
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
    if machine.watch.ending_s is not None and machine.watch.ending_s >= policy.end_s:
        return replace(machine, exited=True), (Announce("its processes would not end: judged without it"), Judge())
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
    if machine.cause is not None or machine.paused or answer_awaited(machine.watch, policy):
        return machine, said
    if close_look_due(machine.watch, policy) and not machine.stopped:
        return replace(machine, watch=replace(machine.watch, looking_s=0.0)), (*said, LookClosely())
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
    if machine.state not in RUNNING_STATES or machine.exited or machine.cause is not None:
        return machine, ()
    looked = replace(machine.watch, looking_s=None, looked_s=machine.watch.silent_s, looked_age_s=machine.watch.age_s)
    machine = replace(machine, watch=looked)
    if event.files or event.busy:
        watch = looked.alive(initialised=event.files or not policy.streamed, wrote=event.files)
        cleared = {S.STALLED} if not event.files else {S.STALLED, S.EXPLORING, S.NO_PROGRESS_WRITES}
        state = S.RUNNING if machine.state in cleared and not machine.stopped else machine.state
        return replace(machine, watch=watch, state=state), ()
    return (machine, ()) if machine.paused else _follow(machine, policy, ())


__all__ = [
    "DOUBTS",
    "REVOCABLE",
    "RUNNING_STATES",
    "TRANSITIONS",
    "Announce",
    "Asked",
    "CancelRequested",
    "Effect",
    "EndTree",
    "Event",
    "Exited",
    "FinalSeen",
    "Hopeless",
    "IllegalEvent",
    "JobMachine",
    "Judge",
    "Judged",
    "Launch",
    "Life",
    "LimitWait",
    "LookClosely",
    "Looked",
    "Now",
    "ProcessState",
    "Relaunched",
    "Revised",
    "SlotGranted",
    "Spawned",
    "Tick",
    "next_tick_s",
    "recall",
    "restore",
    "snapshot",
    "step",
]
