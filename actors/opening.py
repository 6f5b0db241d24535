"""Opening the store: rebuilt where it is damaged, but only by whoever holds the state home's lock.

Another process may be writing: it would go on into the file that was set aside.
"""

from __future__ import annotations

from ..state.errors import DamagedStore, StateError
from ..state.home import Home
from ..state.recovery import open_or_rebuild
from ..state.store import Store
from .base import log
from .lock import HomeLock


def open_store(home: Home, lock: HomeLock, now: float) -> Store:
    """Return the store.

    Raises StateError when it can't be opened, is damaged while somebody else holds the lock, or is another home's, in
    the place of the one whose lock is ours.
    """
    if lock.displaced:
        raise StateError("state_damaged", "the state home was removed or replaced", "try again")
    held = lock.held
    if lock.take():
        try:
            store, warnings = open_or_rebuild(home, now)
        finally:
            if not held:
                lock.release()
        for warning in warnings:
            log.warning("%s", warning)
        return store
    try:
        return Store.open(home.database, now=now)
    except DamagedStore as damage:
        raise StateError("state_damaged", damage.message, "osrc supervisor restart rebuilds it") from damage
