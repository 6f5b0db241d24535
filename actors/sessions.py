"""All sessions: who may have which name, and one actor for each that lives.

A session exists once its acceptance is journalled; only then its caller is told, and only then a holder
is asked for. Two starts for one name meet here, in one mailbox: the second is refused before anything
of it exists.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..messages.facts import ChildCrashed, Fact
from ..messages.internal import FactsCommitted, FactsRefused
from ..messages.refusals import RefusalCode, Refused
from ..messages.session import SessionAccepted, SessionEnded, SessionLaunching, SessionRecord
from ..messages.vocabulary import Effort, SessionState
from ..state.reader import Reader
from ..state.restart_budget import RestartBudget
from ..state.session_folder import SessionFolder
from .base import Handle, Query, ReplyPort, log, start
from .holders import end_session
from .journal_writer import RESTARTING, JournalWriter
from .services import Services
from .session import Session
from .session_closing import CLOSE_AGAIN_S, MOST_CLOSINGS, closed
from .session_names import session_actor
from .supervisor import ChildSpec, Restart, Supervisor
from .transient_faults import TransientFaults
from .tree import in_background

CANCEL_S = 20.0
"""How long sessions have when everything is to end."""


@dataclass(frozen=True, slots=True)
class StartSession:
    """Gateway → Sessions: this session may start; its folder is made. Answered with its record, or a refusal."""

    record: SessionRecord
    named: bool
    """Whether the person chose its name; else a free one is made from it."""


@dataclass(frozen=True, slots=True)
class RelaunchSession:
    """Gateway → Sessions: an ended session's folder holds a new ``launch.json``. Answered like a start."""

    session_id: str
    attempt: int
    effort: Effort | None = None
    """Another effort than it had."""


@dataclass(frozen=True, slots=True)
class AdoptSession:
    """Gateway → Sessions: somebody needs this live session's actor. Answered with True once it is there."""

    session_id: str


@dataclass(frozen=True, slots=True)
class SessionOver:
    """Session → Sessions: its end is journalled; its name is free."""

    session_id: str


@dataclass(slots=True)
class _Waiting:
    """What to do once an append is journalled."""

    port: ReplyPort | None
    done: Callable[[], Any] = field(default=lambda: True)
    undo: Callable[[], None] = field(default=lambda: None)

    def answer(self, value: object) -> None:
        """Answer who asked, if anybody did."""
        if self.port is not None:
            self.port.set(value)


@dataclass(frozen=True, slots=True)
class _Given:
    """A session that was given up: what is left of it is ended, and its log closed, for the ``again``-th time."""

    record: SessionRecord
    reason: str
    again: int = 0


@dataclass(frozen=True, slots=True)
class _Swept:
    given: _Given
    survivors: tuple[int, ...] = ()
    told: bool = False
    """Whether its log is closed."""


class Sessions(Supervisor):
    """See the module."""

    def __init__(self, *, services: Services, **common: Any) -> None:  # noqa: ANN401 - the base class's
        super().__init__(clock=services.clock, budget=RestartBudget(10, 60.0), faults=TransientFaults(), **common)
        self.services = services
        self._names: dict[str, str] = {}
        """Name → id of the live session that bears it."""
        self._given_up: set[str] = set()
        """Sessions that are being ended without an actor of theirs."""
        self._writer: JournalWriter[_Waiting] = JournalWriter(self, next(services.epochs))

    def started(self) -> None:
        """Look after every live session."""
        super().started()
        with Reader(self.services.home.database) as reader:
            rows = reader.live_sessions()
        for row in rows:
            record = SessionRecord.model_validate(row)
            self._names[record.name] = record.session_id
            if not self.services.attached or self.services.lock.held:
                self._run(record.session_id)

    # --- messages

    def receive_own(self, message: object) -> None:  # noqa: C901 - one flat match
        """One flat match over what Sessions can be told."""
        match message:
            case StartSession():
                self._begin(message)
            case RelaunchSession():
                self._relaunch(message)
            case AdoptSession(session_id=session_id):
                self.reply(self._adopt(session_id))
            case SessionOver(session_id=session_id):
                self._names = {name: owner for name, owner in self._names.items() if owner != session_id}
            case FactsCommitted(token=token):
                waiting = self._writer.settled(token)
                if waiting is not None:
                    waiting.answer(waiting.done())
            case FactsRefused(token=token, refusal=refusal):
                waiting = self._writer.settled(token)
                if waiting is not None:
                    waiting.undo()
                    waiting.answer(refusal)
            case _Swept():
                self._swept(message)
            case _Given():
                self._sweep(message)
            case _:
                super().receive_own(message)

    def _begin(self, begin: StartSession) -> None:
        record = begin.record
        if begin.named and record.name in self._names:
            self.reply(in_use(record.name, self._names[record.name]))
            return
        record = record.model_copy(update={"name": free_name(record.name, self._names)})
        self._names[record.name] = record.session_id

        def done() -> SessionRecord:
            self._run(record.session_id, fresh=record)
            return record

        fact = SessionAccepted(session_id=record.session_id, record=record)
        self._append([fact], _Waiting(self._port(), done, lambda: self._free(record.name, record.session_id)))

    def _relaunch(self, again: RelaunchSession) -> None:
        record = self._record(again.session_id)
        if record is None or not record.state.ended:
            self.reply(Refused(code=RefusalCode.NOT_FINISHED, message="that session runs", hint="osrc session list"))
            return
        if record.name in self._names:
            self.reply(in_use(record.name, self._names[record.name]))
            return
        if again.attempt != record.attempt + 1:
            message = f"the session {record.name} is being relaunched already"
            self.reply(Refused(code=RefusalCode.SESSION_NAME_IN_USE, message=message, hint="osrc session list"))
            return
        self._names[record.name] = record.session_id

        def done() -> SessionRecord | None:
            fresh = self._record(again.session_id)
            if fresh is not None:
                self._run(again.session_id, fresh=fresh)
            return fresh

        fact = SessionLaunching(session_id=again.session_id, attempt=again.attempt, effort=again.effort)
        self._append([fact], _Waiting(self._port(), done, lambda: self._free(record.name, record.session_id)))

    def _adopt(self, session_id: str) -> bool:
        if session_actor(session_id) in self.children():
            return True
        record = self._record(session_id)
        given_up = session_id in self._given_up
        if record is None or record.state.ended or given_up or not self.services.lock.take():
            return False
        self._names.setdefault(record.name, session_id)
        self._run(session_id)
        return True

    # --- children

    def _run(self, session_id: str, fresh: SessionRecord | None = None) -> None:
        def begin(parent: Handle, incarnation: int) -> Handle:
            first = fresh is not None and incarnation == 1
            record = fresh if first else self._record(session_id)
            if record is None:
                raise LookupError(f"the record of session {session_id} is gone")
            return start(
                Session,
                session_actor(session_id),
                directory=self.directory,
                parent=parent,
                incarnation=incarnation,
                record=record,
                services=self.services,
                epoch=next(self.services.epochs),
                fresh=first,
                over=lambda _handle, ended: self.handle.tell(SessionOver(ended)),
            )

        self.add(
            ChildSpec(
                id=session_actor(session_id),
                start=begin,
                restart=Restart.TRANSIENT,
                shutdown_s=CANCEL_S,
                budget=RestartBudget(3, 60.0),
                stall_s=60.0,
            )
        )

    def child_ended(self, name: str, error: str | None, *, restarted: bool) -> None:
        """Journal a crash."""
        if error is not None:
            self._append([ChildCrashed(child=name, error=error[:500], restarted=restarted)])

    def gave_up(self, name: str, error: str) -> None:
        """End a session whose actor can't be kept alive, honestly and alone."""
        session_id = name.removeprefix("session:")
        record = self._record(session_id)
        log.error("%s: gave up: %s", session_id, error)
        if record is None:
            return
        self._given_up.add(session_id)
        self._sweep(_Given(record, f"supervisor gave up: {error}"[:200]))

    def _sweep(self, given: _Given) -> None:
        """End what is left of a session that was given up, and close its log: again and again, until there is room."""
        record, session_id = given.record, given.record.session_id
        folder = SessionFolder(self.services.home.session_dir(session_id))
        held = folder.read_holder(record.attempt)
        holder, delegate = (held.holder, held.delegate) if held else (record.holder, record.delegate)

        def work() -> _Swept:
            survivors = end_session(session_id, delegate, holder, 2.0)
            return _Swept(given, survivors, closed(folder, record.attempt, given.reason, survivors))

        in_background(f"end:{session_id}", self.handle, work, otherwise=_Swept(given))

    def _swept(self, swept: _Swept) -> None:
        if swept.survivors:
            log.error("processes that would not end: %s", swept.survivors)
        given, record = swept.given, swept.given.record
        if not swept.told and given.again < MOST_CLOSINGS:
            self.clock.later(CLOSE_AGAIN_S, self.handle, replace(given, again=given.again + 1))
            return
        # Not before: a next supervisor would not close its log, and what starts anew under its id be ended with it.
        ended = SessionEnded(
            session_id=record.session_id, attempt=record.attempt, state=SessionState.LOST, reason=given.reason
        )
        self._given_up.discard(record.session_id)
        self._append([ended])
        self._free(record.name, record.session_id)

    # --- small things

    def _free(self, name: str, session_id: str) -> None:
        if self._names.get(name) == session_id:
            del self._names[name]

    def _record(self, session_id: str) -> SessionRecord | None:
        with Reader(self.services.home.database) as reader:
            found = reader.session(session_id)
        return SessionRecord.model_validate(found) if found is not None else None

    def _port(self) -> ReplyPort | None:
        return self.query.port if isinstance(self.query, Query) else None

    def _append(self, facts: list[Fact], waiting: _Waiting | None = None) -> None:
        told = self._writer.append(facts, waiting, may_wait=waiting is None)
        if not told and waiting is not None:
            waiting.undo()
            waiting.answer(RESTARTING)


def free_name(wanted: str, taken: dict[str, str]) -> str:
    """Return the name, with the first number behind it that makes it free.

    >>> free_name("claude", {"claude": "a", "claude-2": "b"})
    'claude-3'
    """
    return next(
        name for name in itertools.chain([wanted], (f"{wanted}-{n}" for n in itertools.count(2))) if name not in taken
    )


def in_use(name: str, session_id: str) -> Refused:
    """Return the refusal of a name that a live session bears."""
    return Refused(
        code=RefusalCode.SESSION_NAME_IN_USE,
        message=f"a session called {name} runs already ({session_id}); nothing was started or sent",
        hint=f"osrc session send {name} ..., or choose another --name",
    )
