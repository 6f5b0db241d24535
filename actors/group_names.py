"""What the actors of groups are called, and the small things they are told."""

from __future__ import annotations

from dataclasses import dataclass

SETTLED_S = 30.0
"""So old is what a killed command left before it is taken away: what it asked for last may still be on its way."""


def group_actor(group_id: str) -> str:
    """Return the name of a group's actor."""
    return f"group:{group_id}"


@dataclass(frozen=True, slots=True)
class RoomCame:
    """Slots → Fanout: it may be your turn on some lane."""


@dataclass(frozen=True, slots=True)
class JobMoved:
    """Jobs → Crews → Fanout: a job ended. The store is the truth, not the hint."""

    job_id: str


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """Jobs → Crews: a member of this group waits for its turn here. Who looks after the group?"""

    group_id: str


@dataclass(frozen=True, slots=True)
class GroupOver:
    """Fanout → Crews: the group's end is journalled."""

    group_id: str


@dataclass(frozen=True, slots=True)
class Release:
    """Fanout → Jobs: it is these members' turn; that is journalled. Repeating it is harmless."""

    job_ids: tuple[str, ...]
