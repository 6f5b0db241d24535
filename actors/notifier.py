"""Pushes on their way to the sinks: one thread and one queue for each sink, so that none waits for another.

A notifier that hangs keeps later pushes of its own waiting, in order, each within its bound; never an actor.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..messages.alarm import SinkTold
from .base import log
from .sinks import SINKS, Push

Told = Callable[[Push, SinkTold], None]


@dataclass(frozen=True, slots=True)
class _Close:
    pass


class Notifier:
    """See the module. ``told`` is called from its threads, once for each push and sink."""

    def __init__(self, told: Told, sinks: Mapping[str, Callable[[Push], SinkTold]] = SINKS) -> None:
        self._told = told
        self._sinks = sinks
        self._queues: dict[str, queue.SimpleQueue[Push | _Close]] = {}
        self._closed = threading.Event()

    def push(self, push: Push, names: Sequence[str]) -> None:
        """Give a push to these sinks. Returns at once; for the actor that owns this notifier only."""
        for name in names:
            if name not in self._queues:
                self._queues[name] = queue.SimpleQueue()
                threading.Thread(target=self._work, args=(name,), name=f"sink:{name}", daemon=True).start()
            self._queues[name].put(push)

    def close(self) -> None:
        """Begin nothing more. What a command is in the middle of goes on by itself; its push stays owed."""
        self._closed.set()
        for waiting in self._queues.values():
            waiting.put(_Close())

    def _work(self, name: str) -> None:
        while True:
            push = self._queues[name].get()
            if isinstance(push, _Close) or self._closed.is_set():
                return
            told = self._give(name, push)
            if not self._closed.is_set():
                with contextlib.suppress(Exception):  # whoever is told may be gone
                    self._told(push, told)

    def _give(self, name: str, push: Push) -> SinkTold:
        try:
            return self._sinks[name](push)
        except Exception as error:  # noqa: BLE001  a fault of one sink must not end its thread
            log.exception("the sink %s failed", name)
            return SinkTold.model_validate({"sink": name, "result": "failed", "why": type(error).__name__})
