"""Giving a text to a terminal interface: typed once, submitted once, and only into its composer.

    send = Send(text)
    send, actions = advance(send, look, policy)     # at each look at the screen, until send.ended

A send is ``accepted``, then ``written`` (the program has read all of it), ``seen`` (its composer showed it), and
``turn_started`` (the interface works on it, or the CLI's own record has it). Nothing is typed unless the composer
is positively recognised, empty, and the screen at rest. Enter goes apart from the text, once the program has read
the text; it is pressed again only while the text still stands in the composer and the program has read the first
Enter. A turn too short for any look is proved by what it leaves: the text in the conversation, with an answer below.
What can't be proved is said so: the last state reached, and why it went no further. ``belated`` finds the proof that
comes after that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from .echo import answer_below
from .model import Composer, ScreenState, State


class Delivery(StrEnum):
    """How far a send has come."""

    ACCEPTED = "accepted"
    WRITTEN = "written"
    SEEN = "seen"
    TURN_STARTED = "turn_started"


class Step(StrEnum):
    """What the send waits for."""

    ROOM = "room"
    READ = "read"
    SIGHT = "sight"
    TURN = "turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Bounds in seconds."""

    settle_s: float = 0.15
    """How long the screen must have been at rest before anything is typed."""
    read_s: float = 1.0
    """How long after writing the text counts as read, where that can't be asked."""
    sight_s: float = 4.0
    """How long to wait for the text to show before Enter is pressed without that."""
    command_s: float = 20.0
    """How long a command of ours may wait for room, and then to show, before it is given up: it only switches."""
    again_s: float = 3.0
    """How long after Enter, with the text still in the composer, it is pressed again: never sooner than three
    times what the interface took to show the text, or a late picture would be believed."""
    enters: int = 3
    """How often Enter is pressed at most."""
    turn_s: float = 60.0
    """How long after the last Enter a turn may take to show."""
    left_s: float = 20.0
    """How long the screen must have been at rest, with the text gone from the composer, to give up on a turn."""
    answered_s: float = 2.0
    """How long the same conversation must have stood with the text and an answer in it, and nothing at work, to prove
    a turn that was not seen itself: a turn that only begins goes on to say something, or shows that it works."""
    room_s: float | None = None
    """How long to wait for a composer that can take it; None is for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is known at one moment."""

    now: float
    """Monotonic seconds."""
    state: ScreenState
    quiet_s: float
    """Since the program last wrote."""
    flushed: bool = True
    """Whether all that we wrote has been handed to the terminal."""
    drained: bool | None = None
    """Whether the program has read all of it; None where that can't be asked."""
    recorded: bool = False
    """The CLI's own record (transcript, hook) has this send as a turn."""
    busy: bool | None = None
    """What the CLI's own record says of whether it works; None where it has none."""


class Action(StrEnum):
    """What to do at the terminal."""

    PASTE = "paste"
    ENTER = "enter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """One text on its way."""

    text: str = field(default="", repr=False)
    reached: Delivery = Delivery.ACCEPTED
    step: Step = Step.ROOM
    since: float | None = None
    """When this step began."""
    enters: int = 0
    delay_s: float = 0.0
    """How long the interface took to show the text."""
    shown: str = ""
    """What the composer showed of it."""
    body: tuple[str, ...] = field(default=(), repr=False)
    """The conversation when Enter was pressed."""
    latest: tuple[str, ...] = field(default=(), repr=False)
    """The conversation at the last look that found it idle."""
    latest_at: float = 0.0
    """Since when it has been that."""
    left: bool = False
    """Whether it left the composer after Enter."""
    evidence: str = ""
    ended: bool = False


ANSWERED = "its conversation has the text, and an answer to it"
_TAKES = frozenset({State.IDLE})
_TURN = frozenset({State.WORKING, State.WAITING_APPROVAL})
_HELD = frozenset({Composer.DRAFT, Composer.PASTED})


def advance(send: Send, look: Look, policy: Policy) -> tuple[Send, tuple[Action, ...]]:
    """Take a look into account. Returns the send as it is now, and what to do at the terminal."""
    if send.ended:
        return send, ()
    if send.since is None:
        send = replace(send, since=look.now)
    if look.state.state is State.EXITED:
        return _end(send, "the program has exited"), ()
    if send.step is not Step.ROOM and look.recorded:
        return replace(send, reached=Delivery.TURN_STARTED, evidence="in the CLI's own record", ended=True), ()
    return _STEPS[send.step](send, look, policy)


def _end(send: Send, why: str) -> Send:
    return replace(send, ended=True, evidence=why)


def _room(send: Send, look: Look, policy: Policy) -> tuple[Send, tuple[Action, ...]]:
    found = look.state
    free = found.state in _TAKES and found.composer is Composer.EMPTY and look.busy is not True
    if free and look.quiet_s >= policy.settle_s and look.flushed and look.drained is not False:
        return replace(send, step=Step.READ, since=look.now), (Action.PASTE,)
    if policy.room_s is not None and send.since is not None and look.now - send.since >= policy.room_s:
        return _end(send, f"not typed: {why_not(found, busy=look.busy)}"), ()
    return replace(send, evidence=why_not(found, busy=look.busy)), ()


def why_not(found: ScreenState, *, busy: bool | None = None) -> str:
    """Why nothing is typed into a screen like this."""
    if found.state is State.IDLE and busy:
        return "its own record says that it works"
    if found.state is State.IDLE:
        return "waiting for the screen to rest" if found.composer is Composer.EMPTY else "its composer holds a draft"
    return f"{found.state.value}: {found.evidence}"


def _read(send: Send, look: Look, policy: Policy) -> tuple[Send, tuple[Action, ...]]:
    waited = look.now - (send.since or 0.0)
    if not look.flushed or look.drained is False or (look.drained is None and waited < policy.read_s):
        return send, ()
    return replace(send, step=Step.SIGHT, since=look.now, reached=Delivery.WRITTEN), ()


def _sight(send: Send, look: Look, policy: Policy) -> tuple[Send, tuple[Action, ...]]:
    found = look.state
    waited = look.now - (send.since or 0.0)
    if found.composer in _HELD and found.state in {State.IDLE, State.WORKING}:
        if look.quiet_s < policy.settle_s and waited < policy.sight_s:
            return send, ()
        seen = replace(send, reached=Delivery.SEEN, shown=found.draft, delay_s=waited)
        return _enter(seen, look), (Action.ENTER,)
    if waited < policy.sight_s:
        return send, ()
    if found.state is State.IDLE and found.composer is Composer.EMPTY and look.quiet_s >= policy.settle_s:
        # Some interfaces are late to draw what they have taken; Enter in an empty composer does nothing.
        return _enter(send, look), (Action.ENTER,)
    if waited >= policy.turn_s:
        return _end(send, f"not submitted: {why_not(found)}"), ()
    return replace(send, evidence=why_not(found)), ()


def _enter(send: Send, look: Look) -> Send:
    body = send.body if send.enters else look.state.body
    return replace(send, step=Step.TURN, since=look.now, enters=send.enters + 1, body=body)


def _turn(send: Send, look: Look, policy: Policy) -> tuple[Send, tuple[Action, ...]]:
    found = look.state
    waited = look.now - (send.since or 0.0)
    cleared = found.composer in {Composer.EMPTY, Composer.HIDDEN}
    if found.state in _TURN and cleared:
        return replace(send, reached=Delivery.TURN_STARTED, evidence=found.evidence, ended=True), ()
    if look.busy:
        return replace(
            send, reached=Delivery.TURN_STARTED, evidence="its own record says that it works", ended=True
        ), ()
    if found.state is State.IDLE and found.composer is Composer.EMPTY:
        send = _standing(replace(send, left=send.left or send.reached is Delivery.SEEN), look)
        if _answered(send, look, policy):
            return replace(send, reached=Delivery.TURN_STARTED, evidence=ANSWERED, ended=True), ()
    given_up = send.left and waited >= policy.left_s and look.quiet_s >= policy.left_s
    if given_up or waited >= policy.turn_s:
        return _end(send, _unproved(send, found)), ()
    stuck = found.state is State.IDLE and found.composer in _HELD and found.draft == send.shown
    rested = look.quiet_s >= policy.settle_s and look.flushed and look.drained is not False
    if stuck and rested and waited >= max(policy.again_s, 3 * send.delay_s) and send.enters < policy.enters:
        return _enter(send, look), (Action.ENTER,)
    return send, ()


def _standing(send: Send, look: Look) -> Send:
    """Note since when the conversation has been as it is."""
    return send if look.state.body == send.latest else replace(send, latest=look.state.body, latest_at=look.now)


def _answered(send: Send, look: Look, policy: Policy) -> bool:
    """Whether the conversation shows the text anew, with an answer, and has come to rest."""
    if look.now - send.latest_at < policy.answered_s:
        return False
    return bool(answer_below(send.text, send.body, look.state.body))


def belated(send: Send, look: Look, policy: Policy) -> tuple[Send, str | None]:
    """Take a look into account after a send has ended unproved. Returns the send, and what proves its turn now.

    Work alone proves nothing here, for it may be another's: the text must stand in the conversation.
    """
    found = look.state
    if look.recorded:
        return send, "in the CLI's own record"
    if found.state in _TURN and answer_below(send.text, send.body, found.body) is not None:
        return send, found.evidence
    if found.state is State.IDLE and found.composer is Composer.EMPTY:
        send = _standing(send, look)
        return send, ANSWERED if _answered(send, look, policy) else None
    return send, None


def _unproved(send: Send, found: ScreenState) -> str:
    if send.left:
        grown = " and the conversation changed" if found.body != send.body else ""
        return f"it left the composer{grown}, but no turn was seen to start"
    if found.composer in _HELD:
        return "it still stands in the composer"
    return f"no turn was seen to start ({found.state.value})"


_STEPS = {Step.ROOM: _room, Step.READ: _read, Step.SIGHT: _sight, Step.TURN: _turn}


def withdraw(send: Send, why: str) -> Send:
    """End a send that has not been typed yet. One that has been typed stays as it is."""
    return _end(send, why) if send.step is Step.ROOM else send


PASTE_BEGIN, PASTE_END = "\x1b[200~", "\x1b[201~"


def typed(text: str, *, bracketed: bool) -> str:
    """The text as a terminal would hand it on: nothing in it can end the paste or press a key."""
    clean = text.replace("\r\n", "\n").replace("\r", "\n")
    clean = "".join(char for char in clean if char in "\n\t" or (char >= " " and not "\x7f" <= char <= "\x9f"))
    clean = clean.strip("\n")
    if bracketed:
        return f"{PASTE_BEGIN}{clean.replace(chr(10), chr(13))}{PASTE_END}"
    return clean.replace("\n", " ").replace("\t", " ")
