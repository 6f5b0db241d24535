"""Claude Code's own word on a living session (2.1.332): ``~/.claude/sessions/<pid>.json``, gone when it ends."""

from __future__ import annotations

from dataclasses import dataclass

from ..values import as_count, as_number, as_word
from .follow import read_object
from .tail import instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What such a file says."""

    pid: int
    session_id: str
    started_ticks: int | None
    """The process's start as in ``/proc/<pid>/stat``; None where it is written in another way."""
    status: str | None
    waiting_for: str | None
    changed_at: float | None
    """Epoch seconds."""
    kind: str | None
    version: str | None
    name: str | None
    derived: bool
    """Whether it made the name itself, of the folder's."""
    cwd: str | None


def read(content: bytes) -> Told | None:
    """Return what the file says, or None where it is none of these (or half written)."""
    item = read_object(content)
    if item is None:
        return None
    pid, session_id = as_count(item.get("pid")), as_word(item.get("sessionId"))
    if not pid or session_id is None:
        return None
    ticks = item.get("procStart")
    if isinstance(ticks, str) and ticks.isascii() and ticks.isdecimal() and len(ticks) < 20:
        ticks = int(ticks)
    changed = as_number(item.get("statusUpdatedAt")) or as_number(item.get("updatedAt"))
    return Told(
        pid=pid,
        session_id=session_id,
        started_ticks=as_count(ticks),
        status=as_word(item.get("status"), 40),
        waiting_for=as_word(item.get("waitingFor"), 200),
        changed_at=instant(changed),
        kind=as_word(item.get("kind"), 40),
        version=as_word(item.get("version"), 40),
        name=as_word(item.get("name"), 120),
        derived=item.get("nameSource") == "derived",
        cwd=as_word(item.get("cwd"), 4096),
    )
