"""What a killed process left of a job or a session that it had begun to make and nobody had journalled.

Nobody was promised it, so that whoever asks again with the same id gets that very id, and one of it. A folder that
tells of anything more is left alone, whatever the store says.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from ..messages.refusals import Refused
from ..state.errors import StateError
from ..state.job_folder import JobFolder
from ..state.session_folder import SessionFolder
from .base import log
from .owners import is_abandoned
from .services import Services


def make_room(folder: JobFolder | SessionFolder, services: Services) -> Refused | None:
    """Remove such a leftover, if there is one; refuse where another's work may be in that place.

    Called while nobody else in this process takes the id (``in_flight.py``), once the store is known to lack it.
    Raises StateError for what can't be removed.
    """
    if not os.path.lexists(folder.path):
        return None
    draft = folder.read_draft() if isinstance(folder, JobFolder) else None
    if not folder.is_unpromised() or not is_abandoned(services, None if draft is None else draft.owner):
        kind = "job" if isinstance(folder, JobFolder) else "session"
        return taken(f"{kind} {folder.path.name}").refusal
    log.info("%s was begun, but promised to nobody: it is made anew", folder.path.name)
    folder.remove()
    return None


def is_in_the_way(folder: JobFolder | SessionFolder, known: Callable[[], bool]) -> bool:
    """Whether nothing can be made there, though the store knows of nothing: what makes room by itself is not.

    Nor is what is being taken. ``known`` asks the store, and only afterwards: a folder tells of more than a
    beginning only once that is journalled.
    """
    return os.path.lexists(folder.path) and not folder.is_unpromised() and not known()


def taken(what: str) -> StateError:
    """Return why nothing is made under an id (``job <id>``, ``session <id>``) that has a folder."""
    message = f"there is a folder of a {what} already, which this request did not make; nothing was started"
    return StateError("state_damaged", message, "ask again, under another id")
