"""Putting a tree together and taking it apart: the composition root of supervisor and in-process alike."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass

from ..state.errors import StateError
from ..state.home import Home
from ..state.local_zone import local_zone
from ..state.settings import Settings
from .admission import Admission
from .base import Directory, Handle, Stop, log, start
from .budget_book import BudgetBook
from .clock import SystemClock
from .crew_slots import CrewSlots
from .dispatch import Dispatcher
from .feed import Feed
from .gateway import Listener
from .heartbeat_watch import HeartbeatWatch
from .holders import road_for
from .lane_book import LaneBook
from .limit_book import LimitBook
from .live_figures import LiveFigures
from .lock import HomeLock
from .memory_book import MemoryBook
from .model_book import ModelBook
from .notices import Notices, notices_path, pass_on
from .opening import open_store
from .plain_spawner import spawner_for
from .pump import Pump
from .root import Root
from .services import Services

READY_S = 60.0
"""Adopting thousands of jobs on a slow disk takes its time."""

ASKED = ("limits", "jobs", "crews", "sessions", "fleet")
"""The parts that requests are for: one that is not there yet would be taken for one that is being restarted."""


@dataclass(slots=True, kw_only=True)
class Assembly:
    """A running tree and its services."""

    services: Services
    dispatcher: Dispatcher
    root: Handle
    clock: SystemClock
    notices: Notices | None

    def stop(self, reason: str, timeout_s: float = 90.0) -> bool:
        """Stop the tree in order. Returns whether it was down in time."""
        self.services.stopping.set()
        self.root.tell(Stop(reason))
        return self.root.wait_down(timeout_s)

    def close(self) -> None:
        """End the services' threads, after the tree is down."""
        self.services.feed.close()
        self.services.pump.close()
        if self.notices is not None:
            self.notices.close(remove=self.services.attached)
        self.services.spawner.close()
        self.clock.close()
        if self.services.attached:
            self.services.lock.release()


def assemble(  # noqa: PLR0913  what a tree is made of, all but the first two by name
    home: Home,
    settings: Settings,
    *,
    listener: Listener | None,
    attached: bool,
    lock: HomeLock | None = None,
    ending: bool = False,
) -> Assembly:
    """Start the services, then the tree, and wait until it takes jobs.

    ``lock`` is the state home's, held already unless ``attached``; the caller releases it.
    ``ending``: what runs is adopted, and nothing that waits is begun any more.
    Raises StateError when the store can't be opened or the tree does not come up.
    """
    lock = lock or HomeLock(home)
    store = open_store(home, lock, time.time())
    umask = os.umask(0o077)
    directory = Directory()
    fifo = notices_path(home, os.getpid() if attached else None)
    book = LaneBook(home)
    clock, models = SystemClock(), ModelBook(home)
    services = Services(
        home=home,
        clock=clock,
        settings=settings,
        directory=directory,
        feed=Feed(),
        live_figures=LiveFigures(),
        pump=Pump(),
        spawner=spawner_for(settings.text("spawn"), fifo, lambda line: pass_on(directory, line)),
        road=road_for(settings, lambda line: pass_on(directory, line)),
        lane=book.lane,
        registry=book.registry,
        models=models,
        limits=LimitBook(home, lambda: clock.now().wall, local_zone(os.environ)),
        budgets=BudgetBook(home, models, lambda: clock.now().wall, local_zone(os.environ)),
        slots=CrewSlots(settings, directory),
        memory=MemoryBook(home),
        heartbeat_watch=HeartbeatWatch(home, directory),
        lock=lock,
        admission=Admission(home, attached=attached),
        attached=attached,
        stopping=threading.Event(),
        umask=umask,
    )
    if ending:
        services.stopping.set()
    notices: Notices | None = None
    try:
        notices = Notices(fifo, directory)
    except AttributeError:
        log.info("this system has no named pipes: shims are heard by the pipe that each is started with")
    except OSError as error:
        log.warning("no named pipe can be had (%s): ends are noticed a little later", error)
    max_jobs = int(settings.number("max_jobs") or 1)
    dispatcher = Dispatcher(services, book, socket=listener.address if listener is not None else "", max_jobs=max_jobs)
    root = start(
        Root,
        "root",
        directory=directory,
        services=services,
        store=store,
        dispatcher=dispatcher,
        listener=listener,
        max_jobs=max_jobs,
        idle_exit_s=settings.number("idle_exit") or 0.0,
    )
    assembly = Assembly(services=services, dispatcher=dispatcher, root=root, clock=clock, notices=notices)
    if not _stands(services):
        assembly.stop("shutdown", timeout_s=5.0)
        assembly.close()
        raise StateError("state_damaged", "the supervision tree did not come up", f"see {home.log_file}")
    return assembly


def _stands(services: Services) -> bool:
    """Wait until orphans are adopted and every part can be asked; False where that does not come about in time."""
    deadline = time.monotonic() + READY_S
    if not services.ready.wait(READY_S):
        return False
    while any(services.directory.find(part) is None for part in ASKED):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True
