"""One session as an actor: a thin shell around the session machine, its holder and its inbox.

It owns no connection: the holder does. What it is asked for is journalled, then put into the inbox;
what the holder wrote is read from a cursor on. So an actor or a supervisor that dies in the middle
loses nothing, and gives nothing twice.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from ..lanes.catalog.listing import estimate
from ..messages.facts import Fact
from ..messages.internal import FactsCommitted, FactsRefused, LimitSettled
from ..messages.refusals import RefusalCode, Refused
from ..messages.session import (
    SessionEnded,
    SessionEnding,
    SessionFact,
    SessionGiven,
    SessionHeld,
    SessionLaunching,
    SessionRecord,
    SessionSpent,
    SessionStateChanged,
)
from ..state.budgets import CASH_KINDS
from ..state.errors import StateError
from ..state.identity import look
from ..state.session_folder import EVENTS, LAUNCH, READ, HolderRecord, SessionFolder
from ..state.session_machine import (
    Effect,
    Event,
    IllegalEvent,
    Missing,
    Orphaned,
    Over,
    Present,
    SessionMachine,
    StopAsked,
    TreeGone,
    step,
)
from ..state.session_records import apply_session
from .base import Actor, Handle, Query, ReplyPort, log
from .holders import HolderError, end_session, knock, start_holder
from .journal import Append
from .recalling import recall
from .recheck import Asks, look_again
from .services import Services
from .session_closing import closed
from .session_joining import still_runs, write_join
from .session_limits import LimitWatch, limit_met
from .session_meter import Meter
from .session_names import SessionNoticed
from .session_reading import Tail, read_news
from .tree import in_background

TICK_S = 1.0
LAUNCH_S = 45.0
"""How long a holder may take to claim its attempt before it is claimed from it."""
CLOSE_S = 8.0
"""How long a holder may take to end its delegate; it ends the tree itself after five seconds."""
END_GRACE_S = 2.0


@dataclass(frozen=True, slots=True)
class Give:
    """Gateway → Session: put this into the inbox. Answered with ``Given``, or a refusal."""

    send_id: str
    op: str
    entry: Mapping[str, Any] = field(repr=False)
    shown: str | None = None
    """What the journal may keep of it."""
    chars: int = 0


@dataclass(frozen=True, slots=True)
class Given:
    """The answer: journalled, and in the inbox."""

    number: int
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class StopSession:
    """Gateway → Session: end it. Answered with True once that is journalled."""

    cause: str


@dataclass(frozen=True, slots=True)
class _TickDue:
    pass


@dataclass(frozen=True, slots=True)
class _More:
    """To itself: more events are there already."""


@dataclass(frozen=True, slots=True)
class _Launched:
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class _Gone:
    survivors: tuple[int, ...] = ()


class Session(Actor):
    """See the module."""

    def __init__(
        self,
        *,
        record: SessionRecord,
        services: Services,
        epoch: int,
        fresh: bool,
        over: Callable[[Handle, str], None],
        **common: Any,  # noqa: ANN401 - the base class's
    ) -> None:
        super().__init__(**common)
        self.record = record
        self.services = services
        self._epoch = epoch
        self._fresh = fresh
        """Whether a holder is to be started: its launch was journalled just now."""
        self._over = over
        self._tokens = 0
        self._pending: dict[int, Callable[[], None]] = {}
        self._ports: dict[int, tuple[ReplyPort, int]] = {}
        self._ids: dict[str, int] = {}
        self._given = record.given
        self._holder: HolderRecord | None = None
        self._asked_at = 0.0
        self._close_at: float | None = None
        self._turns = record.turns
        self._ending_all = False
        self._watch = LimitWatch()

    # --- start and recovery

    def started(self) -> None:
        """Ask for a holder, or take up where an earlier actor or supervisor was."""
        self.folder = SessionFolder(self.services.home.session_dir(self.record.session_id))
        self._ids = self.folder.settle(self.record.given)
        kept = self.folder.read_json(READ) or {}
        offset, turns = kept.get("offset"), kept.get("turns")
        self._tail = Tail(self.folder.path / EVENTS, offset if isinstance(offset, int) and offset >= 0 else 0)
        self._turns = turns if isinstance(turns, int) else 0
        self._meter = Meter.from_json(kept.get("meter"))
        self.machine = SessionMachine(
            state=self.record.state,
            evidence=self.record.evidence,
            attempt=self.record.attempt,
            cause=self.record.ending,
        )
        self._asked_at = self.services.clock.now().mono
        if self._fresh:
            self._keep_meta()
            self._launch()
        self._look()
        if self.machine.cause is not None:
            self._close()
        self._read()
        self._schedule()

    def _launch(self) -> None:
        record, lane, home = self.record, self.services.lane(self.record.lane), self.services.home
        road = self.services.road

        def work() -> _Launched:
            if lane is None:
                return _Launched(f"no lane is called {record.lane}")
            permit = look_again(self.folder, Asks.session(record, record.attempt), lane, home)
            if isinstance(permit, Refused):
                return _Launched(f"gate: {permit.message}")
            try:
                start_holder(self.folder.path, record.attempt, permit, road)
            except HolderError as error:
                return _Launched(str(error))
            return _Launched()

        in_background(
            f"hold:{self.record.session_id}", self.handle, work, otherwise=_Launched("its holder could not start")
        )

    def _schedule(self) -> None:
        self.services.clock.later(TICK_S, self.handle, _TickDue())

    def stopping(self, reason: str) -> None:
        """Leave the session running, unless everything is to end."""
        if reason == "cancel" and not self.machine.state.ended:
            self._ending_all = True
            self._end_it("the supervisor was stopped with cancel", None)
            return
        self.finished()

    # --- messages

    def receive(self, message: object) -> None:  # noqa: C901, PLR0912 - one flat match
        """One flat match over what a session can be told."""
        match message:
            case Give():
                self._give(message)
            case StopSession(cause=cause):
                self._end_it(cause, self.query.port if isinstance(self.query, Query) else None)
            case SessionNoticed():
                self._read()
                self._look()
            case _TickDue():
                self._read()
                self._look()
                self._schedule()
            case _More():
                self._read()
            case _Launched(trouble=trouble):
                if trouble is not None and self.folder.claim(self.record.attempt, {"by": "supervisor"}):
                    self._step(Over(trouble))
            case _Gone(survivors=survivors):
                if survivors:
                    log.error("%s: processes that would not end: %s", self.record.session_id, survivors)
                self._read(last=True)
                self._step(TreeGone(survivors))
            case LimitSettled():
                pass  # the mark is for who comes next; this one goes on as its program lets it
            case FactsCommitted(token=token):
                done = self._pending.pop(token, None)
                self._ports.pop(token, None)
                if done is not None:
                    done()
            case FactsRefused(token=token, refusal=refusal):
                self._pending.pop(token, None)
                port, number = self._ports.pop(token)
                self.folder.withdraw(number)
                self._ids = {name: known for name, known in self._ids.items() if known != number}
                port.set(refusal)
            case _:
                super().receive(message)

    # --- giving

    def _give(self, give: Give) -> None:
        known = self._ids.get(give.send_id)
        if known is not None:
            self.reply(Given(known, repeated=True))
            return
        if self.machine.state.ended or self.machine.cause is not None or self.machine.end is not None:
            self.reply(ended(self.record))
            return
        number = self._given + 1
        try:
            self.folder.prepare(number, {"id": give.send_id, "op": give.op, **give.entry})
        except StateError as error:
            self.reply(error.refusal)
            return
        self._given = number
        self._ids[give.send_id] = number
        port = self.query.port if isinstance(self.query, Query) else ReplyPort()
        fact = SessionGiven(
            session_id=self.record.session_id,
            number=number,
            send_id=give.send_id,
            op=give.op,
            text=give.shown,
            chars=give.chars,
        )

        def promised() -> None:
            if self.machine.end is not None:  # its log is closed by now: nobody would say what became of it
                port.set(ended(self.record))
            elif self.folder.promise(number):
                port.set(Given(number))
            else:
                message = "what was to be given could not be put into the session's inbox"
                port.set(Refused(code=RefusalCode.STATE_UNWRITABLE, message=message, hint="osrc doctor"))
            self._knock("look")

        self._append([fact], promised, port=(port, number))

    def _end_it(self, cause: str, port: ReplyPort | None) -> None:
        if self.machine.state.ended or self.machine.cause is not None:
            if port is not None:
                port.set(True)
            return

        def journalled() -> None:
            self._step(StopAsked(cause))
            if port is not None:
                port.set(True)

        self._append([SessionEnding(session_id=self.record.session_id, cause=cause)], journalled)

    # --- looking

    def _look(self) -> None:
        """Find out whether its holder is there."""
        if self.machine.state.ended or self.machine.end is not None:
            return
        attempt = self.record.attempt
        if self._holder is None:
            self._holder = self.folder.read_holder(attempt)
            if self._holder is not None and not self._fresh:
                self._recall(self._holder)
            if self._holder is not None and self.record.holder != self._holder.holder:
                known = self._holder
                held = SessionHeld(
                    session_id=self.record.session_id, attempt=attempt, holder=known.holder, delegate=known.delegate
                )
                self._append([held], lambda: self._knock("look"))
        if (over := self.folder.read_exit(attempt)) is not None:
            self._read()
            how = "it ended" if over.signal is None else f"it was ended by signal {over.signal}"
            self._step(Over(over.reason or how, over.code))
        elif self._there():
            self._step(Present())
        elif self.record.transport == "tmux" and still_runs(self._holder):
            self._step(Orphaned())
        else:
            self._step(Missing())
        if self._close_at is not None and self.services.clock.now().mono > self._close_at:
            self._close_at = None
            self._step(Over(self.machine.cause or "stopped on request"))

    def _recall(self, holder: HolderRecord) -> None:
        """Know again what an earlier supervisor's delegate must not be quoted with."""
        lane = self.services.lane(self.record.lane)
        if lane is not None:
            recall(self.folder, lane, holder.delegate.pid if holder.delegate is not None else None)

    def _there(self) -> bool:
        """Whether somebody holds it, or is about to."""
        process = self._holder.holder if self._holder is not None else self.folder.read_claim(self.record.attempt)
        if process is not None:
            return look(process.pid, process.started, process.boot_id) in ("running", "stopped")
        waited_s = self.services.clock.now().mono - self._asked_at
        # Nobody claimed it: once its time is over nobody else may, so that a late one gives nothing.
        return waited_s < LAUNCH_S or not self.folder.claim(self.record.attempt, {"by": "supervisor"})

    def _read(self, *, last: bool = False) -> None:
        events, more = self._tail.more()
        while last and more:
            added, more = self._tail.more()
            events += added
        if events:
            news = read_news(self.record, events, self._turns)
            spent = [self._priced(turn) for turn in self._meter.read(self.record, events, self._turns)]
            self._turns = news.turns
            if news.facts or spent:
                self._append([*news.facts, *spent])
            if (met := self._watch.read(events)) is not None:
                now, settings = self.services.clock.now().wall, self.services.settings
                self.services.directory.tell("limits", limit_met(met, self.record, self.handle, now, settings))
            for seen in news.seen[-1:]:
                self._step(seen)
            with contextlib.suppress(StateError):
                self.folder.write_json(
                    READ, {"offset": self._tail.offset, "turns": self._turns, "meter": self._meter.to_json()}
                )
        if more:
            self.handle.tell(_More())

    def _priced(self, turn: SessionSpent) -> SessionSpent:
        """Return what a turn used, with its cash where it costs any: by list price, else by the delegate's word."""
        self.services.purse.drop(self.record.session_id)
        if self.record.paid not in CASH_KINDS:
            return turn
        price = estimate(self.services.models.listing().get(turn.model or ""), turn.tokens)
        return turn if price is None else turn.model_copy(update={"cash_usd": price})

    # --- effects

    def _step(self, event: Event) -> None:
        try:
            self.machine, effects = step(self.machine, event)
        except IllegalEvent:
            if not self.machine.state.ended:
                raise
            return
        for effect in effects:
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Effect.RECORD_STATE:
                state, evidence = self.machine.state, self.machine.evidence
                changed = SessionStateChanged(session_id=self.record.session_id, state=state, evidence=evidence)
                self._append([changed])
            case Effect.CLOSE:
                self._close()
            case Effect.END_TREE:
                self._end_tree()
            case Effect.RECORD_END:
                self._conclude()
            case Effect.LAUNCH:
                self._launch()
            case Effect.HOLD_AGAIN:
                self._hold_again()
            case _:
                assert_never(effect)

    def _hold_again(self) -> None:
        """Have the program that runs on held by another holder: what had not reached it yet is given by that one."""
        attempt = self.machine.attempt
        log.warning("%s: its holder died, its program runs on: it is joined", self.record.session_id)

        def journalled() -> None:
            self._holder, self._asked_at = None, self.services.clock.now().mono
            try:
                write_join(self.folder, attempt)
            except StateError as error:
                self._step(Over(f"its holder died, and no other could be prepared: {error}"))
                return
            self._launch()

        self._append([SessionLaunching(session_id=self.record.session_id, attempt=attempt)], journalled)

    def _close(self) -> None:
        self._close_at = self.services.clock.now().mono + CLOSE_S
        if not knock(self._holder, "close", cause=self.machine.cause) and self._holder is None:
            self._close_at = self.services.clock.now().mono + TICK_S

    def _end_tree(self) -> None:
        held = self._holder
        holder = held.holder if held is not None else self.folder.read_claim(self.record.attempt)
        if holder is not None and holder.pid == os.getpid():
            holder = None  # it was claimed from whoever never came
        delegate = held.delegate if held is not None else None
        session_id, attempt, reason = self.record.session_id, self.record.attempt, self.machine.reason
        in_background(
            f"end:{session_id}",
            self.handle,
            lambda: _Gone(closed(self.folder, attempt, reason, end_session(session_id, delegate, holder, END_GRACE_S))),
            otherwise=_Gone(),
        )

    def _conclude(self) -> None:
        machine = self.machine
        note = f"processes that would not end: {machine.survivors}" if machine.survivors else None
        over = SessionEnded(
            session_id=self.record.session_id,
            attempt=self.record.attempt,
            state=machine.state,
            reason=machine.reason,
            exit_code=machine.exit_code,
            note=note,
        )

        def journalled() -> None:
            with contextlib.suppress(OSError):
                (self.folder.path / LAUNCH).unlink(missing_ok=True)
            self._over(self.handle, self.record.session_id)
            self.finished()

        self._append([over], journalled)

    # --- small things

    def _knock(self, op: str) -> None:
        knock(self._holder, op)

    def _append(
        self,
        facts: Sequence[Fact],
        done: Callable[[], None] | None = None,
        *,
        port: tuple[ReplyPort, int] | None = None,
    ) -> None:
        """Journal, then change the record, then do. With ``port`` it is refused where it would have to wait."""
        self._tokens += 1

        def committed() -> None:
            at = self.services.clock.now().wall
            for fact in facts:
                if isinstance(fact, SessionFact):
                    self.record = apply_session(self.record, fact, at) or self.record
            self._keep_meta()
            if done is not None:
                done()

        self._pending[self._tokens] = committed
        if port is not None:
            self._ports[self._tokens] = port
        append = Append(
            writer=self.name,
            epoch=self._epoch,
            facts=tuple(facts),
            to=self.handle,
            token=self._tokens,
            may_wait=port is None,
        )
        if not self.services.directory.tell("journal", append):
            log.warning("%s: the journal is being restarted", self.name)

    def _keep_meta(self) -> None:
        try:
            self.folder.write_meta(self.record)
        except StateError as error:
            log.warning("%s: %s", self.record.session_id, error)


def ended(record: SessionRecord) -> Refused:
    """Return the refusal of what an ended session is asked for."""
    state = record.state.value if record.state.ended else "being ended"
    return Refused(
        code=RefusalCode.SESSION_ENDED,
        message=f"the session {record.name} is {state}" + (f" ({record.reason})" if record.reason else ""),
        hint=f"osrc session relaunch {record.session_id}",
    )
