"""How a session's actor is called, and the hint that it gets: what pipes and actors share."""

from __future__ import annotations

from dataclasses import dataclass


def session_actor(session_id: str) -> str:
    """Return the name of a session's actor."""
    return f"session:{session_id}"


@dataclass(frozen=True, slots=True)
class SessionNoticed:
    """Notices → Session: a hint that its holder wrote something. The files are the truth, not the hint."""
