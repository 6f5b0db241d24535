"""Giving a session something and seeing what becomes of it: the receipt, and the end of the turn."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import exit_codes
from .errors import CliError, SupervisorLostError, from_refusal
from .output import say
from .reach import Reach
from .render.plan import disclosure
from .session_events import Event, Events, open_question
from .sessions import Session

_ATTEMPTS = 4
RECEIPT_S = 20.0
TAKEN = ("seen", "turn-started", "done")
"""The delegate has it."""
NOT_TAKEN = ("refused", "failed")
UNSEEN = "unverified"
"""It was typed, but nothing shows that a turn began."""
LATE_S = 30.0
"""How long an answer is still waited for after that: it may be seen all the same."""
_LEFT_US = ("written", "seen", "turn-started")
_ASKING = ("waiting-approval", "trust", "login", "menu", "limit")
Over = Callable[[], bool]
_ENDED = {"ok": False, "message": "the session ended"}


@dataclass(slots=True)
class Receipt:
    """What became of one entry, as far as it was seen."""

    number: int
    send_id: str
    delivery: str = "accepted"
    reason: str | None = None
    end: Event | None = None
    """How the turn ended, where that was waited for."""
    ask: Event | None = None
    """What it asks meanwhile: it has to be answered before the turn goes on, or this one's begins."""
    texts: list[str] = field(default_factory=list)
    taken: tuple[str, ...] = TAKEN
    """The deliveries by which the delegate has it: what only stands in a terminal's composer is not had yet."""
    waited: bool = False
    """Whether the end of the turn was waited for."""
    unseen_at: float | None = None
    """When it was told that nothing shows a turn of it; monotonic."""
    passed: bool = False
    """Whether no end of a turn that comes now can be its own: the session has ended, or was given another thing."""

    @property
    def hopeless(self) -> bool:
        """Whether nothing shows that a turn began, and nothing more is to be waited for."""
        if self.delivery != UNSEEN or self.end is not None:
            return False
        return self.passed or self.unseen_at is None or time.monotonic() - self.unseen_at >= LATE_S

    @property
    def exit_code(self) -> int:
        """The command's."""
        if self.delivery in NOT_TAKEN:
            return exit_codes.REFUSED
        if self.delivery == UNSEEN and self.end is None:
            return exit_codes.UNVERIFIED
        if not self.waited:
            unseen = exit_codes.UNVERIFIED if self.end is None else exit_codes.REFUSED
            return exit_codes.DONE if self.delivery in self.taken else unseen
        if self.end is not None:
            return exit_codes.DONE if self.end.get("ok") else exit_codes.REFUSED
        if self.ask is not None:
            return exit_codes.BLOCKED
        return exit_codes.TIMEOUT


def new_id() -> str:
    """Return an id for one thing to give: asked for again, it is given once."""
    return f"c:{os.urandom(8).hex()}"


def give(reach: Reach, session: Session, body: dict[str, Any]) -> tuple[Receipt, Events]:
    """Ask for one thing; return its number and the events from before it on.

    A supervisor that goes away in the middle is asked again, with the same id: it is given once.
    """
    events = Events(str(session["events_path"]), at_end=True)
    waits = body["kind"] == "session.send" and not body.get("interrupt") and session.get("state") in _ASKING
    asked = open_question(Events(str(session["events_path"])).more()) if waits else None
    body = {**body, "session": session["session_id"], "send_id": new_id()}
    failure: CliError | None = None
    for attempt in range(_ATTEMPTS):
        try:
            for reply in reach.channel().exchange(body):
                if reply.get("kind") == "refused":
                    raise from_refusal(reply)
                if leaves := disclosure(reply, short=True):
                    say(leaves)
                taken = TAKEN[1:] if session.get("transport") in ("pty", "tmux") else TAKEN
                return Receipt(int(reply["number"]), str(body["send_id"]), taken=taken, ask=asked), events
        except SupervisorLostError as error:
            failure = error
        reach.drop()
        time.sleep(0.05 * 2**attempt)
    raise failure or CliError("internal", "the supervisor gave no answer")


def see(receipt: Receipt, events: Events, seconds: float = RECEIPT_S, over: Over | None = None) -> Receipt:
    """Wait until the delegate has it, or will not get it. ``over`` tells that the session has ended."""
    _follow(receipt, events, time.monotonic() + seconds, over, settled)
    return receipt


def see_end(receipt: Receipt, events: Events, seconds: float | None, over: Over | None = None) -> Receipt:
    """Wait until the turn has ended, or something is asked: by it, or by the one that it waits for."""
    receipt.waited = True
    _follow(receipt, events, None if seconds is None else time.monotonic() + seconds, over, concluded)
    return receipt


def settled(receipt: Receipt) -> bool:
    """Whether the delegate has it, or will not get it."""
    return receipt.delivery in (*receipt.taken, *NOT_TAKEN, UNSEEN) or receipt.end is not None


def concluded(receipt: Receipt) -> bool:
    """Whether there is nothing more to wait for."""
    over = receipt.end is not None or receipt.ask is not None
    return over or receipt.delivery in NOT_TAKEN or receipt.hopeless


def _follow(
    receipt: Receipt, events: Events, deadline: float | None, over: Over | None, done: Callable[[Receipt], bool]
) -> None:
    while deadline is None or time.monotonic() < deadline:
        ended = over is not None and over()
        for event in events.more():
            _note(receipt, event)
        if done(receipt):
            return
        if ended:  # and its log says nothing of it: the disk may be full
            _note(receipt, {"type": "exited"})
            return
        time.sleep(0.03)


def _note(receipt: Receipt, event: Event) -> None:
    kind = event.get("type")
    unseen = receipt.delivery == UNSEEN
    ours = receipt.delivery in receipt.taken or (unseen and not receipt.passed)
    if kind == "delivery":
        _note_delivery(receipt, event)
    elif kind == "text" and ours and isinstance(event.get("text"), str):
        receipt.texts.append(str(event["text"]))
    elif kind == "ask":  # of another's turn, too: while that waits for an answer, this one waits
        receipt.ask = event
    elif kind == "answered" and receipt.ask is not None and event.get("request") == receipt.ask.get("request"):
        receipt.ask = None
    elif kind == "exited":
        receipt.end = dict(_ENDED) if receipt.end is None and not unseen else receipt.end
        receipt.ask, receipt.passed = None, True
    elif kind == "end":
        receipt.end = event if receipt.end is None and ours else receipt.end
        receipt.ask = None


def _note_delivery(receipt: Receipt, event: Event) -> None:
    number, state = event.get("number"), str(event.get("state"))
    if number == receipt.number:
        receipt.delivery = state
        receipt.reason = event.get("reason") if isinstance(event.get("reason"), str) else None
        if state == UNSEEN:
            receipt.unseen_at = time.monotonic()
    elif isinstance(number, int) and number > receipt.number and state in _LEFT_US:
        receipt.passed = True
