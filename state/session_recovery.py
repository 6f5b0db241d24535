"""Sessions that only their folders know: a store that was rebuilt, or lost the end of its log, gets them back."""

from __future__ import annotations

import os

from ..messages.session import SessionRecord
from .home import Home
from .ids import is_job_id
from .session_folder import SessionFolder
from .store import Store


def forgotten_sessions(store: Store, home: Home) -> list[SessionRecord]:
    """Return the sessions that the store lacks, or takes for live though they have ended.

    ``meta.json`` is written after the commit, so that it never knows of what was not decided.
    """
    found = []
    for session_id in _folders(home):
        kept = SessionFolder(home.session_dir(session_id)).read_meta()
        if kept is None or kept.session_id != session_id:
            continue
        known = store.session(session_id)
        newer = known is not None and (kept.attempt, kept.state.ended) > (known.attempt, known.state.ended)
        if (known is None and not store.was_removed(session_id)) or newer:
            found.append(kept)
    return found


def restore_sessions(store: Store, home: Home) -> int:
    """Put them into the store, in the open transaction; return how many."""
    found = forgotten_sessions(store, home)
    for record in found:
        store.restore_session(record)
    return len(found)


def _folders(home: Home) -> list[str]:
    try:
        with os.scandir(home.sessions_dir) as entries:
            return sorted(entry.name for entry in entries if is_job_id(entry.name) and entry.is_dir())
    except OSError:
        return []
