"""The slots of every lane, shared by all groups' actors: a lock around the pure rules, and what the lanes bear."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from ..lanes.pacing import APART_S, AT_MOST, read_caps
from ..state.lane_slots import Grant, LaneSlots, Pace
from ..state.settings import Settings
from .base import Directory, log
from .group_names import RoomCame, group_actor


class CrewSlots:
    """What groups ask for room. Whoever's turn it is gets told."""

    def __init__(self, settings: Settings, directory: Directory) -> None:
        self._lock = threading.Lock()
        self._slots = LaneSlots()
        self._directory = directory
        self._caps: Mapping[str, int] = {}
        try:
            self._caps = read_caps(settings.text("lane_max") or "")
        except ValueError as error:
            log.warning("the setting lane_max is not heeded: %s", error)

    def pace(self, lane: str, *, capped: bool) -> Pace:
        """Return what a lane bears; without ``capped`` only a bound that the person set holds."""
        most = self._caps.get(lane, AT_MOST.get(lane) if capped else None)
        return Pace(most, APART_S.get(lane, 0.0))

    def claim(self, group: str, lane: str, count: int, pace: Pace, now: float) -> Grant:
        """Take up to ``count`` slots."""
        with self._lock:
            grant = self._slots.claim(group, lane, count, pace, now)
        if grant.tell is not None:
            self._tell({grant.tell})
        return grant

    def declare(self, group: str, at_work: Mapping[str, int]) -> None:
        """Say how many of a group's members are at work on each lane."""
        with self._lock:
            tell = self._slots.declare(group, at_work)
        self._tell(tell)

    def unqueue(self, group: str, lane: str) -> None:
        """Want nothing of a lane any more."""
        with self._lock:
            tell = self._slots.unqueue(group, lane)
        self._tell(tell)

    def forget(self, group: str) -> None:
        """Drop a group that has ended."""
        with self._lock:
            tell = self._slots.forget(group)
        self._tell(tell)

    def _tell(self, groups: set[str]) -> None:
        for group in sorted(groups):
            self._directory.tell(group_actor(group), RoomCame())
