"""What a test does with a session's talk: take what it told and what it sent."""

from __future__ import annotations

from typing import Any


def drained(talk: Any) -> list[dict[str, Any]]:
    """What it told since it was last asked."""
    events, talk.events = talk.events, []
    return events


def sent(talk: Any) -> list[Any]:
    """What it sent since it was last asked."""
    out, talk.out = talk.out, []
    return out


def kinds(talk: Any) -> list[str]:
    """Types of what was told; of states and deliveries, which."""
    return [str(event.get("state") or event["type"]) for event in drained(talk)]
