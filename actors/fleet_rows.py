"""A session of another tool as a row of the fleet: the public object, always with the same keys. Unknown is null."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..lanes.fleet_state import Judged
from ..lanes.transcripts.claude_presence import Told
from ..lanes.transcripts.tail import Tail
from ..messages.fleet import FleetState
from ..messages.vocabulary import SCHEMA_VERSION
from .fleet_gather import Found
from .fleet_panes import Place
from .fleet_processes import Running, has_terminal

NAME_CHARS = 60
_HEADLESS = frozenset({"exec", "-p", "--print", "run"})
FUTURE_S = 60.0
"""A file that was written so far in the future tells nothing of its age."""

_EMPTY: dict[str, Any] = {
    "schema_version": SCHEMA_VERSION,
    "id": None,
    "owner": "foreign",
    "kind": None,
    "tool": None,
    "session_id": None,
    "job_id": None,
    "name": None,
    "name_source": None,
    "model": None,
    "state": FleetState.UNKNOWN.value,
    "state_label": FleetState.UNKNOWN.label,
    "raw_state": None,
    "evidence": None,
    "needs_you": False,
    "alive": None,
    "age_s": None,
    "started": None,
    "cwd": None,
    "repository": None,
    "branch": None,
    "pid": None,
    "pid_started": None,
    "pane": None,
    "transcript": None,
    "version": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that is known of one session of another tool."""

    tool: str
    judged: Judged
    alive: bool | None
    found: Found | None = None
    running: Running | None = None
    told: Told | None = None
    place: Place | None = None
    given: str | None = None
    """The name that ``fleet name`` gave it."""


def filled(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with every key, and what follows from its state."""
    made = {**_EMPTY, **row}
    state = FleetState(made["state"])
    made["state_label"], made["needs_you"] = state.label, state.needs_you
    return made


def row_of(seen: Seen, now: float) -> dict[str, Any]:
    """Return the row of a session of another tool."""
    tail = seen.found.tail if seen.found is not None else Tail()
    told, running = seen.told, seen.running
    session_id = (told.session_id if told else None) or tail.session_id
    name, source = _name(seen, tail, session_id)
    return filled(
        {
            "id": f"{seen.tool}:{session_id}" if session_id else f"pid:{running.row.pid}" if running else None,
            "tool": seen.tool,
            "kind": _kind(running) or (told.kind if told else None),
            "session_id": session_id,
            "name": name,
            "name_source": source,
            "model": tail.model,
            "state": seen.judged.state.value,
            "raw_state": told.status if told else None,
            "evidence": seen.judged.evidence,
            "alive": seen.alive,
            "age_s": _age(seen, now),
            "started": running.started_at if running else None,
            "cwd": (running.cwd if running else None) or (seen.found.cwd if seen.found else None),
            "branch": None if seen.alive else tail.branch,
            "pid": running.row.pid if running else None,
            "pid_started": running.row.started if running else None,
            "pane": _pane(seen.place),
            "transcript": transcript_of(seen.found) if seen.found else None,
            "version": (told.version if told else None) or tail.version or (running.version if running else None),
        }
    )


def _name(seen: Seen, tail: Tail, session_id: str | None) -> tuple[str | None, str | None]:
    told = seen.told
    ways = (
        (told.name if told and not told.derived else None, "user"),
        (seen.given, "given"),
        (tail.title, "title"),
        (tail.first_user, "first-words"),
        (told.name if told else None, "tool"),
        (session_id, None),
    )
    for name, source in ways:
        if name:
            words = " ".join(name.split())
            return (words if len(words) <= NAME_CHARS else words[: NAME_CHARS - 1] + "…"), source
    return None, None


def _kind(running: Running | None) -> str | None:
    """Whether a person sits before it: by its words, else by what it reads from."""
    if running is None:
        return None
    if any(word in _HEADLESS for word in running.argv[1:6]):
        return "headless"
    terminal = has_terminal(running.row.pid)
    return None if terminal is None else "interactive" if terminal else "headless"


def _age(seen: Seen, now: float) -> float | None:
    """Seconds since it was last heard of."""
    moments = [
        seen.found.written_at if seen.found else None,
        seen.found.tail.at if seen.found and seen.found.written_at > now + FUTURE_S else None,
        seen.told.changed_at if seen.told else None,
        seen.running.started_at if seen.running and not seen.found and not seen.told else None,
    ]
    known = [one for one in moments if one is not None and one <= now + FUTURE_S]
    return round(max(0.0, now - max(known)), 1) if known else None


def _pane(place: Place | None) -> dict[str, str] | None:
    return None if place is None else {"server": place.server, "pane": place.pane_id, "target": place.target}


def transcript_of(found: Found) -> dict[str, Any]:
    """Return where a transcript lies and how it is."""
    return {"path": found.path, "bytes": found.size, "written_at": round(found.written_at, 3)}
