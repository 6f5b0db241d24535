"""The only writer of the state database: decisions in, one fsync for as many as are waiting.

An append is answered with ``facts.committed`` once it is on disk, and never before. Appends that
wait in the mailbox share one commit. Each append names its writer and the writer's epoch: an actor
that was set aside and wakes late has an old epoch, and what it says is dropped.

A full disk stops no delegate: appends that can wait are kept in memory and tried again, appends that
must not wait (a new job) are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..messages.facts import Entry, Fact
from ..messages.internal import FactsCommitted, FactsRefused
from ..messages.refusals import Refused
from ..state.errors import DamagedStore, StateError
from ..state.store import Store
from .base import Actor, Handle, log
from .clock import Clock
from .feed import Feed
from .redaction import clean_fact

RETRY_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
BATCH = 256
"""Most appends that share a commit: bounds how long the first of them waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """A writer → Journal: make these facts durable, then tell ``to``."""

    writer: str
    epoch: int
    facts: tuple[Fact, ...]
    to: Handle | None = None
    token: int = 0
    may_wait: bool = True
    """False: refuse at once when the disk says no."""


@dataclass(frozen=True, slots=True)
class _Retry:
    pass


@dataclass(frozen=True, slots=True)
class _Flush:
    """To ourselves, behind what waits now: commit at the latest here, whatever else came in between."""


@dataclass(frozen=True, slots=True)
class Settle:
    """A query to Journal: answered with True once all that was told before is on disk or refused."""


class Journal(Actor):
    """See the module."""

    def __init__(self, *, store: Store, clock: Clock, feed: Feed, **common: Any) -> None:  # noqa: ANN401  the base class's
        super().__init__(**common)
        self._store = store
        self._clock = clock
        self._feed = feed
        self._epochs: dict[str, int] = {}
        self._batch: list[tuple[Append, list[Entry]]] = []
        self._held: list[Append] = []
        self._failures = 0
        self._retry_due = False
        self._flush_due = False

    def receive(self, message: object) -> None:
        """Append, and commit when nothing more waits."""
        match message:
            case Append():
                self._take(message)
            case _Retry():
                self._retry_due = False
                self._try_held()
            case _Flush():
                self._flush_due = False
                self._commit()
            case Settle():
                self._commit()
                self.reply(True)
            case _:
                super().receive(message)
        if self.actor_inbox.empty() or len(self._batch) >= BATCH:
            self._commit()
        elif self._batch and not self._flush_due:
            self._flush_due = True
            self.handle.tell(_Flush())

    def stopping(self, reason: str) -> None:  # noqa: ARG002  the same for every reason
        """Commit what is in hand, try once more what was held, and close."""
        self._commit()
        self._try_held()
        self._commit()
        if self._held:
            log.error("%d decisions could not be written before the end", len(self._held))
        self._store.close()
        self.finished()

    def crashed(self) -> None:
        """Forget what was not committed: nobody was told of it, and it would keep the next journal from writing."""
        self._store.close()

    def _try_held(self) -> None:
        """Write what was held, in its order: the first that fails keeps the rest behind it."""
        held, self._held = self._held, []
        for place, append in enumerate(held):
            self._write(append)
            if self._held:
                self._held += held[place + 1 :]
                return

    def _take(self, append: Append) -> None:
        known = self._epochs.get(append.writer, 0)
        if append.epoch < known:
            log.warning("dropped facts of %s epoch %d: %d writes now", append.writer, append.epoch, known)
            return
        self._epochs[append.writer] = append.epoch
        if self._held and append.may_wait:
            self._held.append(append)  # behind those that already wait: order is a promise
            return
        self._write(append)

    def _write(self, append: Append) -> None:
        try:
            entries = self._store.append([clean_fact(fact) for fact in append.facts], self._clock.now().wall)
        except DamagedStore:
            raise  # a crash: the root starts the journal anew, and that rebuilds the store
        except StateError as error:
            lost = [waiting for waiting, _ in self._batch]
            self._batch = []
            self._fail([*lost, append], error)
            return
        self._batch.append((append, entries))

    def _commit(self) -> None:
        batch, self._batch = self._batch, []
        if not batch:
            return
        try:
            self._store.commit()
        except DamagedStore:
            raise
        except StateError as error:
            self._fail([append for append, _ in batch], error)
            return
        self._failures = 0
        if not self._held:
            self._feed.trouble = None
        self._feed.publish(max((entry.seq for _, entries in batch for entry in entries), default=0))
        for append, entries in batch:
            if append.to is not None:
                append.to.tell(FactsCommitted(token=append.token, entries=tuple(entries)))

    def _fail(self, appends: Sequence[Append], error: StateError) -> None:
        refusal: Refused = error.refusal
        log.error("the journal could not be written: %s", refusal.message)
        for append in appends:
            if append.may_wait:
                self._held.append(append)
            elif append.to is not None:
                append.to.tell(FactsRefused(token=append.token, refusal=refusal))
        if self._held:
            self._feed.trouble = refusal.message
        if self._held and not self._retry_due:
            self._retry_due = True
            delay = RETRY_S[min(self._failures, len(RETRY_S) - 1)]
            self._failures += 1
            self._clock.later(delay, self.handle, _Retry())
