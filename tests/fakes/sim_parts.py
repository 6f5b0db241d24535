"""The parts that a simulated supervisor gets instead of threads, forks, pipes and the system's clock."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

from fakes.sim_machine import Killed, Machine
from outsourcerer.actors.base import Actor
from outsourcerer.actors.pump import IN_FLIGHT, Pump

OURS = "outsourcerer"
MOST_KEPT = 40


class SimPump(Pump):
    """The pump without its thread: the world lets it read."""

    def __init__(self, world: Any) -> None:
        self._condition = threading.Condition()
        self._tails = {}
        self._closed = False
        self._world = world

    def ready(self) -> list[str]:
        found = []
        for job_id, tail in self._tails.items():
            if tail.in_flight >= IN_FLIGHT:
                continue
            if tail.ends is not None:
                if tail.in_flight == 0 or self.unread(job_id):
                    found.append(job_id)
                continue
            for name, path in tail.paths.items():
                with contextlib.suppress(OSError):
                    if path.stat().st_size > tail.offsets[name]:
                        found.append(job_id)
                        break
        return found

    def turn(self, job_id: str) -> None:
        with self._condition:
            if (tail := self._tails.get(job_id)) is not None:
                self._serve(job_id, tail, self._world.machine.mono)

    def close(self) -> None:
        for job_id in list(self._tails):
            self._drop(job_id)


class SimSpawner:
    """The forking process and its pipe."""

    def __init__(self, world: Any) -> None:
        self._world = world
        world.zygote = None

    def spawn(self, folder: Path, attempt: int, permit: Any) -> None:
        permit.demand(folder.name, attempt)
        if self._world.zygote is None or not self._world.zygote.there:
            self._world.new_zygote()
        self._world.requests.append((folder, attempt))

    def suspect(self, asked_at: float) -> None:
        zygote = self._world.zygote
        if zygote is not None and self._world.zygote_since <= asked_at:
            self._world.machine.signal(zygote, 9)
            self._world.requests.clear()

    def close(self) -> None:
        """Its pipe ends; what waits in it is still read."""


class SimClock:
    def __init__(self, machine: Machine) -> None:
        self.now, self.later, self.forget = machine.now, machine.later, machine.forget

    def close(self) -> None:
        pass


class NoNotices:
    def close(self, *, remove: bool = False) -> None:
        pass


class Crashes(logging.Handler):
    """Keeps what crashed, for whoever looks for the reason of a finding."""

    def __init__(self, kept: list[str]) -> None:
        super().__init__()
        self._kept = kept
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self._kept.append(self.format(record))
        del self._kept[:-MOST_KEPT]


def functions_of_ours() -> Iterator[Any]:
    """Every function and method of ours: what is a default argument was bound before anything could be replaced."""
    for name, module in list(sys.modules.items()):
        if not name.startswith((f"{OURS}.actors", f"{OURS}.state")):
            continue
        for held in list(vars(module).values()):
            inner = vars(held).values() if isinstance(held, type) else (held,)
            yield from (found for found in inner if isinstance(found, FunctionType))


def is_callable(value: object) -> bool:
    return callable(value)


def lets_kill(real: Callable[..., None]) -> Callable[..., None]:
    """The crash rule, which catches all, but not the end of the whole process."""

    def guarded(actor: Actor, work: Callable[[], None]) -> None:
        killed: list[Killed] = []

        def watched() -> None:
            try:
                work()
            except Killed as end:
                killed.append(end)

        real(actor, watched)
        if killed:
            raise killed[0]

    return guarded
