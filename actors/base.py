"""Actors with one crash rule. The only file that imports pykka.

Pykka treats the same exception in two ways: raised while handling a told message it kills the actor,
raised while handling an asked one it goes to the asker and the actor lives on (seen with 4.5.0). Here
nothing is ever asked in pykka's sense: a :class:`Query` carries its own reply port, so every message
is told and every exception that escapes a handler is a crash, also one that escapes the start, also
``SystemExit``. Expected trouble is a returned :class:`Refused`.

    class Counter(Actor):
        def receive(self, message: object) -> None: ...

    counter = start(Counter, "counter", directory=directory, parent=None)
    answer = ask(counter, Count(), timeout_s=1.0)      # threads of the gateway only

Actors never ask: they tell, and waiting is a message that comes later.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pykka

from ..messages.refusals import RefusalCode, Refused

log = logging.getLogger("outsourcerer.actors")


class ReplyPort:
    """Where the answer to a query goes: set once, by whoever ends up knowing it."""

    __slots__ = ("_gate", "_given", "_value")

    def __init__(self) -> None:
        self._given = threading.Lock()
        """Taken by the first answer."""
        self._gate = threading.Lock()
        """Held until there is an answer: one wake-up of one waiter, which an Event makes several of."""
        self._gate.acquire()
        self._value: Any = None

    def set(self, value: Any) -> None:  # noqa: ANN401  a reply is whatever the query's contract says
        """Answer. Only the first answer counts, so that a crash can't overwrite a given one."""
        if self._given.acquire(blocking=False):
            self._value = value
            self._gate.release()

    @property
    def answered(self) -> bool:
        """Whether it has its answer."""
        return self._given.locked()

    def wait(self, timeout_s: float) -> Any:  # noqa: ANN401  as above
        """Return the answer, or a refusal when none came in time."""
        if self._gate.acquire(timeout=timeout_s):
            self._gate.release()
            return self._value
        return Refused(
            code=RefusalCode.SUPERVISOR_BUSY,
            message=f"the supervisor did not answer within {timeout_s:g} s",
            hint="look at it with: osrc supervisor status",
        )


@dataclass(frozen=True, slots=True)
class Query:
    """A question and the port its answer goes to."""

    body: Any
    port: ReplyPort


@dataclass(frozen=True, slots=True)
class Probe:
    """Supervisor → child: are you there? Answered by the base class, between two messages."""

    token: int


@dataclass(frozen=True, slots=True)
class ProbeAnswered:
    """Child → supervisor."""

    child: str
    incarnation: int
    token: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Supervisor → child: end in order. ``reason`` says what becomes of delegates."""

    reason: str


@dataclass(frozen=True, slots=True)
class ChildDown:
    """Child → supervisor, as its last word: ``error`` is None when it stopped in order."""

    child: str
    incarnation: int
    error: str | None


class Handle:
    """An actor that can be told something. Telling a dead one returns False."""

    __slots__ = ("_ref", "incarnation", "name")

    def __init__(self, ref: pykka.ActorRef[Any], name: str, incarnation: int) -> None:
        self._ref = ref
        self.name = name
        self.incarnation = incarnation

    def tell(self, message: object) -> bool:
        """Put ``message`` into the mailbox."""
        try:
            self._ref.tell(message)
        except pykka.ActorDeadError:
            return False
        if not self.alive:
            _refuse(message)  # it went down between the two: nobody may look into that mailbox again
        return True

    @property
    def alive(self) -> bool:
        """Whether the actor still takes messages."""
        return self._ref.is_alive()

    @property
    def waiting(self) -> int:
        """Messages in its mailbox."""
        return _mailbox(self._ref).qsize()

    def wait_down(self, timeout_s: float | None = None) -> bool:
        """Wait until the actor has ended; for threads that are no actors."""
        return self._ref.actor_stopped.wait(timeout_s)

    def same(self, other: Handle | None) -> bool:
        """Whether both stand for one actor (not for two that bore one name)."""
        return other is not None and other._ref.actor_urn == self._ref.actor_urn  # noqa: SLF001  one of us

    def set_aside(self) -> None:
        """Take no more messages and be forgotten; the thread can't be killed and ends when it wakes.

        What waits in the mailbox is refused.
        """
        with contextlib.suppress(pykka.ActorDeadError):
            self._ref.tell(_WakeUp())  # one that waits for a message would wait for ever
        pykka.ActorRegistry.unregister(self._ref)
        self._ref.actor_stopped.set()
        _empty(_mailbox(self._ref))


class Directory:
    """Name → the actor that bears it now. Restarted actors keep their names, so addresses stay true."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handles: dict[str, Handle] = {}

    def put(self, handle: Handle) -> None:
        """Enter an actor, in place of an earlier bearer of its name."""
        with self._lock:
            self._handles[handle.name] = handle

    def drop(self, handle: Handle) -> None:
        """Remove an actor, unless its name has already passed on."""
        with self._lock:
            if handle.same(self._handles.get(handle.name)):
                del self._handles[handle.name]

    def find(self, name: str) -> Handle | None:
        """Return the bearer of a name."""
        with self._lock:
            return self._handles.get(name)

    def tell(self, name: str, message: object) -> bool:
        """Tell the bearer of a name; False when there is none."""
        handle = self.find(name)
        return handle is not None and handle.tell(message)

    def waiting(self) -> dict[str, int]:
        """Name → messages waiting, for people."""
        with self._lock:
            handles = list(self._handles.values())
        return {handle.name: handle.waiting for handle in handles if handle.alive}


class Actor(pykka.ThreadingActor):
    """An actor of ours: a name, an incarnation, one handler, one crash rule."""

    use_daemon_thread = True

    @staticmethod
    def _create_actor_inbox() -> queue.SimpleQueue[Any]:
        """Pykka hook: a mailbox in C. A told message then costs one wake-up instead of three (seen with 4.5.0)."""
        return queue.SimpleQueue()

    def __init__(self, *, name: str, directory: Directory, incarnation: int = 1, parent: Handle | None = None) -> None:
        super().__init__()
        self.name = name
        self.directory = directory
        self.incarnation = incarnation
        self.parent = parent
        self.query: Query | None = None
        """The query being handled, if the message is one."""
        self._down = False
        self._owed: list[ReplyPort] = []
        """Ports of queries that were handled but not answered yet: somebody still waits."""

    # --- for subclasses

    def started(self) -> None:
        """Do what must be done before the first message. An exception is a crash like any other."""

    def receive(self, message: object) -> None:
        """Handle one message. Must not block."""
        raise TypeError(f"{self.name} does not know {type(message).__name__}")

    def stopping(self, reason: str) -> None:  # noqa: ARG002  for subclasses
        """Let go of what is held. Called once, on an ordered stop only. The default stops at once."""
        self.finished()

    def crashed(self) -> None:
        """Let go of what would stand in the way of a successor: after a crash, or once set aside. Must not block.

        One that was set aside may be called when its successor has long been at work: let go of what is this
        instance's own, and leave alone whatever both share.
        """

    def finished(self) -> None:
        """End this actor in order, now. What still waits in the mailbox is refused."""
        self._go_down(None)

    def reply(self, value: Any) -> None:  # noqa: ANN401  as above
        """Answer the query being handled."""
        if self.query is not None:
            self.query.port.set(value)

    @property
    def handle(self) -> Handle:
        """This actor, for others to tell."""
        return Handle(self.actor_ref, self.name, self.incarnation)

    # --- pykka's hooks

    def on_start(self) -> None:
        """Pykka hook: run ``started`` under the crash rule (pykka would stop silently)."""
        self.directory.put(self.handle)  # before anyone whom ``started`` tells can want to answer
        threading.current_thread().name = f"actor:{self.name}"
        self._guarded(self.started)

    def on_receive(self, message: Any) -> None:  # noqa: ANN401  as above
        """Pykka hook: one message under the crash rule."""
        if self._down or self.actor_stopped.is_set():  # the latter: it was set aside
            _refuse(message)
            return
        match message:
            case _WakeUp():
                self.actor_stopped.wait()  # whoever sent it sets that next
            case Probe(token=token):
                if self.parent is not None:
                    self.parent.tell(ProbeAnswered(self.name, self.incarnation, token))
            case Stop(reason=reason):
                self._guarded(lambda: self.stopping(reason))
            case Query(body=body, port=port):
                self.query = message
                self._owed = [owed for owed in self._owed if not owed.answered]
                self._owed.append(port)
                self._guarded(lambda: self.receive(body))
                self.query = None
            case _:
                self._guarded(lambda: self.receive(message))

    def _actor_loop_teardown(self) -> None:
        """Pykka hook, as the last of its thread: one that was set aside is no more in its successor's way."""
        if not self._down:
            self._down = True
            self._call_crashed()
        super()._actor_loop_teardown()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # the crash rule: SystemExit in an actor would stop every actor of the process
            log.exception("%s crashed", self.name)
            self._call_crashed()
            self._go_down(f"{type(error).__name__}: {error}")

    def _call_crashed(self) -> None:
        try:
            self.crashed()
        except BaseException:  # it is down already, and its parent must hear so
            log.exception("%s could not let go of what it held", self.name)

    def _go_down(self, error: str | None) -> None:
        if self._down:
            return
        self._down = True
        for port in self._owed:
            port.set(_UNKNOWN)
        pykka.ActorRegistry.unregister(self.actor_ref)
        self.actor_stopped.set()
        _empty(_mailbox(self.actor_ref))
        if self.parent is not None:
            self.parent.tell(ChildDown(self.name, self.incarnation, error))


NOT_DONE = Refused(
    code=RefusalCode.STOPPING,
    message="that part of the supervisor stopped before it looked at the request: nothing was done",
    hint="try again, or see: osrc supervisor logs",
)
"""The answer to a query that nobody will handle."""

_UNKNOWN = Refused(
    code=RefusalCode.SUPERVISOR_BUSY,
    message="that part of the supervisor stopped while it handled the request: it may or may not have been done",
    hint="look with: osrc status",
)


@dataclass(frozen=True, slots=True)
class _WakeUp:
    """To an actor that was set aside: leave."""


def _mailbox(ref: pykka.ActorRef[Any]) -> queue.SimpleQueue[Any]:
    """Return the mailbox of envelopes. Pykka types it as less than it is."""
    mailbox: Any = ref.actor_inbox
    found: queue.SimpleQueue[Any] = mailbox
    return found


def _empty(mailbox: queue.SimpleQueue[Any]) -> None:
    """Refuse all queries that wait."""
    wake_up = None
    with contextlib.suppress(queue.Empty):
        while True:
            envelope = mailbox.get_nowait()
            if isinstance(envelope.message, _WakeUp):
                wake_up = envelope
            _refuse(envelope.message)
    if wake_up is not None:
        mailbox.put(wake_up)


def _refuse(message: object) -> None:
    """Answer a query that nobody will handle."""
    if isinstance(message, Query):
        message.port.set(NOT_DONE)


def start(
    factory: Callable[..., Actor],
    name: str,
    *,
    directory: Directory,
    incarnation: int = 1,
    parent: Handle | None = None,
    **arguments: Any,  # noqa: ANN401  the factory's own
) -> Handle:
    """Start an actor and enter it in the directory. What its ``__init__`` raises is raised here."""
    ref = factory.start(  # type: ignore[attr-defined]  # a class of ours: pykka gives it `start`
        name=name, directory=directory, incarnation=incarnation, parent=parent, **arguments
    )
    handle = Handle(ref, name, incarnation)
    directory.put(handle)
    return handle


def ask(handle: Handle | None, body: object, timeout_s: float, port: ReplyPort | None = None) -> Any:  # noqa: ANN401  as above
    """Ask from a thread that is no actor. Always returns: the answer, or a refusal.

    An answer that comes later can be read from a ``port`` that was handed in.
    """
    port = port or ReplyPort()
    if handle is None or not handle.tell(Query(body, port)):
        return Refused(
            code=RefusalCode.STOPPING,
            message="that part of the supervisor is being restarted: nothing was done",
            hint="try again",
        )
    return port.wait(timeout_s)
