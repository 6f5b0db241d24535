"""The words for AI coding sessions of this machine, and the question for them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from .base import Message, Observation


class ViewFleet(Message):
    """client → fleet; ``fleet_view``: every AI coding session of this machine, looked at within ``max_age_s``."""

    kind: Literal["view.fleet"] = "view.fleet"
    max_age_s: Annotated[float, Field(ge=0, le=3600)] = 1.0


class FleetView(Observation):
    """Every AI coding session of this machine, as it was at ``seen_at`` (keys in docs/orchestrators.md)."""

    kind: Literal["fleet_view"] = "fleet_view"
    seen_at: float
    sessions: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be looked at, each a sentence."""


class FleetState(StrEnum):
    """What a session is doing, told by its process and its transcript."""

    WORKING = "working"
    WAITING = "waiting"
    STUCK = "maybe-stuck"
    IDLE = "idle"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    UNKNOWN = "unknown"

    @property
    def label(self) -> str:
        """The words for a person."""
        return _LABELS[self]

    @property
    def needs_you(self) -> bool:
        """Whether somebody should look at it."""
        return self in {FleetState.WAITING, FleetState.STUCK}


_LABELS = {
    FleetState.WORKING: "Working",
    FleetState.WAITING: "Waiting on you",
    FleetState.STUCK: "Maybe stuck",
    FleetState.IDLE: "Idle",
    FleetState.DONE: "Done",
    FleetState.STOPPED: "Stopped mid-task",
    FleetState.FAILED: "Failed",
    FleetState.UNKNOWN: "Unknown",
}
