"""What a session is doing: one rule over its process and the end of its transcript. Pure.

A living process is believed before the tool's own word of its state, and that before the transcript. What nobody
told stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ..messages.fleet import FleetState
from .transcripts.tail import Speaker, Tail, Turn

STUCK_S = 600.0
"""Work that shows no sign of life for so long may be stuck."""


class Life(StrEnum):
    """What is known of a session's process."""

    ALIVE = "alive"
    STOPPED = "stopped"
    """It lives, and was stopped (SIGSTOP)."""
    DEAD = "dead"
    UNKNOWN = "unknown"
    """There may be one, and which it is can't be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """What a tool itself tells of a living session."""

    status: str | None = None
    waiting_for: str | None = None
    since_s: float | None = None
    """Seconds since that changed; None where it was not told, or lies in the future."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """All there is to judge by."""

    life: Life
    tail: Tail | None = None
    presence: Presence | None = None
    quiet_s: float | None = None
    """Seconds since anything was written to the transcript; None where that can't be told."""
    busy: bool = False
    """Whether its process tree was seen to use the processor just now."""
    runs_something: bool = False
    """Whether something that it started since its last word still runs."""
    on_screen: str | None = None
    """What its terminal was seen to ask."""
    end_guessed: bool = False
    """Whether this tool's transcript marks no end of a turn, so that a tool's run looks like one."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A state, and what it was told by."""

    state: FleetState
    evidence: str


_WAITING = frozenset({"waiting", "permission-waiting", "needs-input", "needs_you"})
_BUSY = frozenset({"busy", "working"})


def judge(signs: Signs) -> Judged:
    """Return what a session is doing."""
    match signs.life:
        case Life.ALIVE:
            return _alive(signs)
        case Life.STOPPED:
            return Judged(FleetState.STUCK, "its process is stopped (SIGSTOP)")
        case Life.DEAD:
            return _dead(signs.tail)
        case Life.UNKNOWN:
            return Judged(FleetState.UNKNOWN, "whether its process lives can't be told")


def _alive(signs: Signs) -> Judged:
    told, tail = signs.presence or Presence(), signs.tail
    if told.waiting_for or told.status in _WAITING:
        return Judged(FleetState.WAITING, told.waiting_for or f"it says that it is {told.status}")
    if signs.on_screen is not None:
        return Judged(FleetState.WAITING, f"its screen asks: {signs.on_screen}")
    if tail is not None and tail.asked is not None and told.status != "idle":
        return Judged(FleetState.WAITING, f"asks: {tail.asked}")
    if told.status in _BUSY:
        quiet = [one for one in (told.since_s, signs.quiet_s) if one is not None]
        return _at_work(signs, f"it says that it is {told.status}", min(quiet) if quiet else None)
    if told.status == "idle":
        return Judged(FleetState.IDLE, "it says that it is idle")
    return _by_tail(signs, tail)


def _by_tail(signs: Signs, tail: Tail | None) -> Judged:
    """It lives, and says nothing of itself."""
    if tail is None or tail.turn is None:
        return Judged(FleetState.UNKNOWN, "its process lives, and no transcript tells what it does")
    if tail.turn is Turn.OPEN:
        return _at_work(signs, _doing(tail), signs.quiet_s)
    if tail.turn is Turn.ENDED and signs.end_guessed and signs.runs_something:
        return _at_work(signs, "something that it started since its last word still runs", signs.quiet_s)
    if tail.turn is Turn.FAILED:
        return Judged(FleetState.WAITING, f"its last turn failed: {tail.error or 'no reason is told'}")
    if tail.turn is Turn.ABORTED:
        return Judged(FleetState.IDLE, "its turn was broken off")
    # Without its screen, a question that was not written down looks the same.
    ended = "it said its last words; whether it asks something is not written down"
    return Judged(FleetState.IDLE, ended if signs.end_guessed else "its turn has ended")


def _at_work(signs: Signs, what: str, quiet_s: float | None) -> Judged:
    if quiet_s is not None and quiet_s > STUCK_S and not signs.busy:
        return Judged(FleetState.STUCK, f"{what}, and nothing was heard of it for {int(quiet_s // 60)} min")
    return Judged(FleetState.WORKING, what)


def _doing(tail: Tail) -> str:
    if tail.tools:
        return f"runs {next(reversed(tail.tools.values()))}"
    if tail.speaker is Speaker.USER:
        return "was given a task, and has not answered yet"
    return "is in the middle of a turn"


def _dead(tail: Tail | None) -> Judged:
    """Its process is gone: only the transcript can tell how it went."""
    if tail is None or tail.turn is None:
        return Judged(FleetState.UNKNOWN, "its process is gone, and nothing tells how it ended")
    if tail.turn is Turn.FAILED:
        return Judged(FleetState.FAILED, tail.error or "its last turn failed")
    if tail.turn is Turn.ENDED:
        return Judged(FleetState.DONE, "its last turn ended, and its process is gone")
    if tail.turn is Turn.ABORTED:
        return Judged(FleetState.STOPPED, "its last turn was broken off")
    if tail.asked is not None:
        return Judged(FleetState.STOPPED, f"it ended with a question open: {tail.asked}")
    return Judged(FleetState.STOPPED, f"it ended {_left(tail)}")


def _left(tail: Tail) -> str:
    if tail.tools:
        return f"while {next(reversed(tail.tools.values()))} ran"
    if tail.speaker is Speaker.USER:
        return "before it answered"
    return "in the middle of a turn"


_OWN: Mapping[str, FleetState] = {
    **dict.fromkeys(("running", "launching", "stalled?", "exploring?", "starting", "working"), FleetState.WORKING),
    "no-progress-writes": FleetState.STUCK,
    **dict.fromkeys(("queued", "waiting-limit", "idle"), FleetState.IDLE),
    **dict.fromkeys(("needs-answer", "blocked", "permission-blocked"), FleetState.WAITING),
    **dict.fromkeys(("trust", "login", "menu", "waiting-approval", "limit"), FleetState.WAITING),
    **dict.fromkeys(("done", "done?", "exited"), FleetState.DONE),
    **dict.fromkeys(("canceled", "interrupted"), FleetState.STOPPED),
    **dict.fromkeys(("failed", "timeout", "wedged", "lost"), FleetState.FAILED),
}
"""What our own words for jobs and sessions come to; ``unknown`` stays it."""


def of_own(state: str | None) -> FleetState:
    """Return the word for the state of a job or a session of ours."""
    return _OWN.get(state or "", FleetState.UNKNOWN)
