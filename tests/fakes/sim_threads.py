"""Threads of a simulated supervisor: one runs at a time, and one that waits lets the others go on meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from fakes.sim_machine import Killed

WAITS = ("check:", "launch:")
"""How those are called that wait long: they stand still on a real thread of their own. The rest run whole."""


class SimThread:
    """A thread that runs when chance lets it."""

    def __init__(self, world: Any, target: Callable[[], None], name: str) -> None:
        self._world, self._target, self.name = world, target, name
        self._real: threading.Thread | None = None
        self._turn, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._until: float | None = None
        self._ready: Callable[[], bool] = lambda: False
        self._over = self._ended = False
        self._error: BaseException | None = None

    def start(self) -> None:
        self._world.background.append(self)

    # --- the world's side

    @property
    def wakes_at(self) -> float | None:
        """Until when it waits; None where it does not."""
        return self._until

    def may_go(self, now: float) -> bool:
        """Whether it has something to do."""
        return self._until is None or self._until <= now or self._ready()

    def go(self) -> bool:
        """Let it run until it waits or is over; return whether it is over. Raises what it raised."""
        if not self.name.startswith(WAITS):
            self._target()
            return True
        self._until = None
        self._world.running = self
        if self._real is None:
            self._real = threading.Thread(target=self._run, name=self.name, daemon=True)
            self._real.start()
        else:
            self._turn.release()
        self._back.acquire()
        self._world.running = None
        if self._over:
            self._real.join()
        if self._error is not None:
            raise self._error
        return self._over

    def end(self) -> None:
        """Its process is gone: nothing more of it happens."""
        if self._real is not None and not self._over:
            self._ended = True
            self._turn.release()
            self._real.join()

    # --- its own side

    def wait(self, until: float, ready: Callable[[], bool] = lambda: False) -> None:
        """Stand still until then, or until something is ready. Called on this very thread. Raises Killed."""
        if self._ended:
            raise Killed
        self._until, self._ready = until, ready
        self._back.release()
        self._turn.acquire()
        if self._ended:
            raise Killed

    def _run(self) -> None:
        try:
            self._target()
        except BaseException as error:
            self._error = error
        self._over = True
        self._back.release()
