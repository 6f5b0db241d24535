"""Reading what ``bearings.py`` draws, from the store. No pydantic: the front end uses this without a supervisor."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from . import session_views, views
from .alarms_reader import changed_at, open_alarms
from .attention import Word
from .bearings import LANDED_S, Sight
from .errors import StateError
from .files import read_private
from .limits_reader import marks
from .reader import Reader

NEWEST = 200
"""So many of the newest jobs are looked at for what landed lately."""
FILE = "bearings.json"
"""The last picture that a supervisor drew, in the state home."""
_FILE_LIMIT = 1 << 20

Look = Callable[[int, float, str], str]


def sight(reader: Reader, now: float, word: Word, look: Look | None = None) -> Sight:
    """Return what there is to draw. ``look`` (``identity.look``) is given where no supervisor runs to be believed."""
    live = reader.live()
    known = {record.get("job_id") for record in live}
    landed = [
        record
        for record in reader.jobs(None, NEWEST)[0]
        if record.get("job_id") not in known and _lately(record, now) and not views.is_live(record)
    ]
    sessions = [*reader.live_sessions(), *(row for row in reader.sessions(NEWEST)[0] if row.get("ended") is not None)]
    jobs = [_since(reader, record, "job_id") for record in live]
    if look is not None:
        jobs = [views.derive(record, look) for record in jobs]
        sessions = [session_views.derive(record, look) for record in sessions]
    return Sight(
        now=now,
        jobs=[*jobs, *landed],
        sessions=[_since(reader, row, "session_id") if row.get("ended") is None else row for row in sessions],
        marks=marks(reader, now),
        alarms=open_alarms(reader),
        word=word,
    )


def last_picture(root: str) -> dict[str, Any] | None:
    """Return the last picture that a supervisor drew; None where there is none that can be read."""
    try:
        data = read_private(f"{root}/{FILE}", _FILE_LIMIT)
        picture: Any = json.loads(data) if data else None
    except (StateError, ValueError, RecursionError):
        return None
    if not isinstance(picture, dict) or not isinstance(picture.get("counts"), dict):
        return None
    return picture if isinstance(picture.get("captured_at"), int | float) else None


def _since(reader: Reader, record: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {**record, "state_since": changed_at(reader, str(record.get(key)))}


def _lately(record: Mapping[str, Any], now: float) -> bool:
    ended = record.get("ended")
    return isinstance(ended, int | float) and now - ended <= LANDED_S
