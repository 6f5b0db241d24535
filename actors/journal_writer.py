"""One actor's hand at the journal: facts go out under a token, and what waits for them is had back by it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from typing import Generic, TypeVar

from ..messages.facts import Fact
from ..messages.refusals import RefusalCode, Refused
from .base import Actor
from .journal import Append

RESTARTING = Refused(code=RefusalCode.STOPPING, message="the journal is being restarted", hint="try again")
"""What is answered to who would have to wait for a journal that is not there just now."""

W = TypeVar("W")


class JournalWriter(Generic[W]):
    """For one actor, which is told ``FactsCommitted`` or ``FactsRefused`` of what it lets something wait for."""

    def __init__(self, actor: Actor, epoch: int) -> None:
        """``epoch`` outranks those of the actor's earlier incarnations."""
        self._actor = actor
        self._epoch = epoch
        self._tokens = itertools.count(1)
        self._waiting: dict[int, W] = {}

    def append(self, facts: Iterable[Fact], waiting: W | None = None, *, may_wait: bool = True) -> bool:
        """Give facts to the journal. False while that is being restarted: then nothing waits for them.

        Without ``may_wait`` they are refused at once when the disk says no.
        """
        token = next(self._tokens)
        if waiting is not None:
            self._waiting[token] = waiting
        append = Append(
            writer=self._actor.name,
            epoch=self._epoch,
            facts=tuple(facts),
            to=None if waiting is None else self._actor.handle,
            token=token,
            may_wait=may_wait,
        )
        told = self._actor.directory.tell("journal", append)
        if not told:
            self._waiting.pop(token, None)
        return told

    def settled(self, token: int) -> W | None:
        """Return what waited under a token, which is over now; None where nothing did."""
        return self._waiting.pop(token, None)

    @property
    def waiting(self) -> Collection[W]:
        """All that waits."""
        return self._waiting.values()
