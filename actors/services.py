"""What every actor of the tree may use, handed in once: clock, processes, state home, lanes."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..lanes.contract import Lane
from ..lanes.registry import Registry
from ..state.home import Home
from ..state.settings import Settings
from .accounts import Accounts
from .admission import Admission
from .base import Directory
from .budget_book import BudgetBook
from .clock import Clock
from .crew_slots import CrewSlots
from .feed import Feed
from .heartbeat_watch import HeartbeatWatch
from .holders import HolderRoad
from .kept_request import Requests
from .limit_book import LimitBook
from .live_figures import LiveFigures
from .lock import HomeLock
from .memory_book import MemoryBook
from .model_book import ModelBook
from .pump import Pump
from .spawner import Spawning


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """One tree's services. Threads of its own: clock and pump."""

    home: Home
    clock: Clock
    settings: Settings
    directory: Directory
    feed: Feed
    live_figures: LiveFigures
    pump: Pump
    spawner: Spawning
    lane: Callable[[str], Lane | None]
    """Name → lane, user-declared ones included; None when it is gone."""
    registry: Callable[[], Registry]
    """Every lane there is now."""
    lock: HomeLock
    """Ours, or to be taken before a job is adopted."""
    models: ModelBook
    """The person's own models, and the cached catalogue."""
    admission: Admission
    """Whether the machine has room for one more job, and the hour."""
    limits: LimitBook
    """Marks, quotas and reservations."""
    budgets: BudgetBook
    """Money budgets, and what runs have spent by now."""
    slots: CrewSlots
    """Whose turn it is on which lane, among groups."""
    memory: MemoryBook
    """What jobs of each lane have used."""
    heartbeat_watch: HeartbeatWatch
    """What the heartbeat is told, and who looked at what."""
    accounts: Accounts = field(default_factory=Accounts)
    """Whom live jobs can ask what they cost."""
    requests: Requests = field(default_factory=Requests)
    """The environments of live jobs, for attempts elsewhere."""
    road: HolderRoad = field(default_factory=HolderRoad)
    """How holders of sessions are started and reached."""
    attached: bool = False
    """Whether the tree lives inside a command instead of a supervisor process."""
    umask: int = 0o022
    """The umask that delegates get."""
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set once the tree is to end: nothing new is begun."""
    ready: threading.Event = field(default_factory=threading.Event)
    """Set once orphans are adopted and jobs can be taken."""
    epochs: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    """Journal epochs: every start of a writer takes the next, so a later one always outranks an earlier."""
