"""One session as an actor: a thin shell around the session machine, its holder and its inbox.

It owns no connection: the holder does. What it is asked for is journalled, then put into the inbox;
what the holder wrote is read from a cursor on. So an actor or a supervisor that dies in the middle
loses nothing, and gives nothing twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from ..state.session_folder import EVENTS, LAUNCH, READ, SessionFolder
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
from .journal_writer import JournalWriter
from .services import Services
from .session_asks import Give, Given, StopSession, ended
from .session_closing import CLOSE_AGAIN_S, MOST_CLOSINGS
from .session_holding import SUPERVISOR, Gone, Holding, Launched
from .session_joining import write_join
from .session_limits import LimitWatch, limit_met
from .session_meter import Meter
from .session_names import SessionNoticed
from .session_reading import Tail, read_news

TICK_S = 1.0
CLOSE_S = 8.0
"""How long a holder may take to end its delegate; it ends the tree itself after five seconds."""


@dataclass(frozen=True, slots=True)
class _CloseDue:
    """Its log may be closed by now."""


@dataclass(frozen=True, slots=True)
class _TickDue:
    pass


@dataclass(frozen=True, slots=True)
class _More:
    """To itself: more events are there already."""


@dataclass(frozen=True, slots=True)
class _Asker:
    """Who waits for a fact to be journalled, and is refused where that would have to wait."""

    port: ReplyPort
    number: int | None = None
    """The inbox entry that is withdrawn then."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What is done once facts are journalled, and who waits for that."""

    committed: Callable[[], None]
    asker: _Asker | None


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
        self._fresh = fresh
        """Whether a holder is to be started: its launch was journalled just now."""
        self._over = over
        self._writer: JournalWriter[_Waiting] = JournalWriter(self, epoch)
        self._ids: dict[str, int] = {}
        self._given = record.given
        self._close_at: float | None = None
        self._closings = 0
        """How often its log took nothing when it was to be closed."""
        self._turns = record.turns
        self._watch = LimitWatch()

    # --- start and recovery

    def started(self) -> None:
        """Ask for a holder, or take up where an earlier actor or supervisor was."""
        self.folder = SessionFolder(self.services.home.session_dir(self.record.session_id))
        self._holding = Holding(self.record.session_id, self.services, self.folder, self.handle)
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
        if self._fresh:
            self._keep_meta()
            self._holding.launch(self.record)
        self._look()
        if self.machine.cause is not None:
            self._close()
        self._read()
        self._schedule()

    def _schedule(self) -> None:
        self.services.clock.later(TICK_S, self.handle, _TickDue())

    def stopping(self, reason: str) -> None:
        """Leave the session running, unless everything is to end."""
        if reason == "cancel" and not self.machine.state.ended:
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
                self._end_it(cause, _Asker(self.query.port) if isinstance(self.query, Query) else None)
            case SessionNoticed():
                self._read()
                self._look()
            case _TickDue():
                self._read()
                self._look()
                self._schedule()
            case _More():
                self._read()
            case Launched(trouble=trouble):
                if trouble is not None and self.folder.claim(self.record.attempt, SUPERVISOR):
                    self._step(Over(trouble))
            case Gone(told=False) if self._closings < MOST_CLOSINGS:
                self._closings += 1
                self.services.clock.later(CLOSE_AGAIN_S, self.handle, _CloseDue())
            case _CloseDue():
                self._holding.end(self.record.attempt, self.machine.reason)
            case Gone(survivors=survivors):
                if survivors:
                    log.error("%s: processes that would not end: %s", self.record.session_id, survivors)
                self._read(last=True)
                self._step(TreeGone(survivors))
            case LimitSettled():
                pass  # the mark is for who comes next; this one goes on as its program lets it
            case FactsCommitted(token=token):
                waiting = self._writer.settled(token)
                if waiting is not None:
                    waiting.committed()
            case FactsRefused(token=token, refusal=refusal):
                waiting = self._writer.settled(token)
                if waiting is not None and waiting.asker is not None:
                    self._refuse(waiting.asker, refusal)
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
            self._holding.look()

        self._append([fact], promised, _Asker(port, number))

    def _refuse(self, asker: _Asker, refusal: Refused) -> None:
        """Take back what can't be journalled now, and say so."""
        if asker.number is not None:
            self.folder.withdraw(asker.number)
            if asker.number == self._given:
                self._given -= 1  # or its holder would wait for it; one behind others is passed over there
            self._ids = {name: known for name, known in self._ids.items() if known != asker.number}
        asker.port.set(refusal)

    def _end_it(self, cause: str, asker: _Asker | None) -> None:
        if self.machine.state.ended or self.machine.cause is not None:
            if asker is not None:
                asker.port.set(True)
            return

        def journalled() -> None:
            if self.machine.cause is None:
                self._step(StopAsked(cause))
            if asker is not None:
                asker.port.set(True)

        self._append([SessionEnding(session_id=self.record.session_id, cause=cause)], journalled, asker)

    # --- looking

    def _look(self) -> None:
        """Find out whether its holder is there."""
        if self.machine.state.ended or self.machine.end is not None:
            return
        attempt = self.record.attempt
        signed = self._holding.find(self.record, fresh=self._fresh)
        here = (self.record.holder, self.record.delegate)
        if signed is not None and here != (signed.holder, signed.delegate):
            held = SessionHeld(
                session_id=self.record.session_id, attempt=attempt, holder=signed.holder, delegate=signed.delegate
            )
            self._append([held], self._holding.look)
        if (over := self.folder.read_exit(attempt)) is not None:
            self._read()
            how = "it ended" if over.signal is None else f"it was ended by signal {over.signal}"
            self._step(Over(over.reason or how, over.code))
        elif self._holding.there(attempt):
            self._step(Present())
        elif self.record.transport == "tmux" and self._holding.program_runs():
            self._step(Orphaned())
        else:
            self._step(Missing())
        if self._close_at is not None and self.services.clock.now().mono > self._close_at:
            self._close_at = None
            self._step(Over(self.machine.cause or "stopped on request"))

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
        self.services.budgets.drop(self.record.session_id)
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
                self._holding.end(self.record.attempt, self.machine.reason)
            case Effect.RECORD_END:
                self._conclude()
            case Effect.LAUNCH:
                self._holding.launch(self.record)
            case Effect.HOLD_AGAIN:
                self._hold_again()
            case _:
                assert_never(effect)

    def _hold_again(self) -> None:
        """Have the program that runs on held by another holder: what had not reached it yet is given by that one."""
        attempt = self.machine.attempt
        log.warning("%s: its holder died, its program runs on: it is joined", self.record.session_id)

        def journalled() -> None:
            self._holding.forget()
            try:
                write_join(self.folder, attempt)
            except StateError as error:
                self._step(Over(f"its holder died, and no other could be prepared: {error}"))
                return
            self._holding.launch(self.record)

        self._append([SessionLaunching(session_id=self.record.session_id, attempt=attempt)], journalled)

    def _close(self) -> None:
        self._close_at = self.services.clock.now().mono + CLOSE_S
        if not self._holding.close(self.machine.cause) and self._holding.known is None:
            self._close_at = self.services.clock.now().mono + TICK_S

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

    def _append(
        self,
        facts: Sequence[Fact],
        done: Callable[[], None] | None = None,
        asker: _Asker | None = None,
    ) -> None:
        """Journal, then change the record, then do. An ``asker`` is refused where it would have to wait."""

        def committed() -> None:
            at = self.services.clock.now().wall
            for fact in facts:
                if isinstance(fact, SessionFact):
                    self.record = apply_session(self.record, fact, at) or self.record
            self._keep_meta()
            if done is not None:
                done()

        if not self._writer.append(facts, _Waiting(committed, asker), may_wait=asker is None):
            log.warning("%s: the journal is being restarted", self.name)

    def _keep_meta(self) -> None:
        try:
            self.folder.write_meta(self.record)
        except StateError as error:
            log.warning("%s: %s", self.record.session_id, error)
