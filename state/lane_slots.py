"""Who may start how many on which lane, over all groups: pure, and fair without anybody polling.

A group that gets less than it asked for stands in the lane's queue; when room comes, the first in the queue is
named to be told, takes one and, wanting more, stands at the end again. So groups take turns where a lane is
scarce, and nobody waits where it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """What a lane bears."""

    most: int | None = None
    """Jobs of groups that run on it at the same time; None: no bound of its own."""
    apart_s: float = 0.0
    """Least time between two starts: its CLI rewrites files of its own as it starts."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The answer to a claim."""

    count: int
    again_s: float | None = None
    """Ask again after so long, for the rest. None: you will be told, or all was granted."""
    tell: str | None = None
    """Another group whose turn it is."""


class LaneSlots:
    """The slots of every lane. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._used: dict[str, dict[str, int]] = {}
        self._queue: dict[str, list[str]] = {}
        self._next_at: dict[str, float] = {}

    def used(self, lane: str) -> int:
        """Return how many jobs of groups are at work on a lane."""
        return sum(self._used.get(lane, {}).values())

    def claim(self, group: str, lane: str, count: int, pace: Pace, now: float) -> Grant:
        """Take up to ``count`` slots of a lane for a group."""
        if count <= 0:
            return Grant(0)
        queue = self._queue.setdefault(lane, [])
        room = count if pace.most is None else pace.most - self.used(lane)
        first = not queue or queue[0] == group
        wait_s = self._next_at.get(lane, 0.0) - now
        if room <= 0 or not first or wait_s > 0:
            if group not in queue:
                queue.append(group)
            return Grant(0, wait_s if first and room > 0 else None, None if first or room <= 0 else queue[0])
        if group in queue:
            queue.remove(group)
        granted = 1 if queue or pace.apart_s > 0 else min(count, room)
        used = self._used.setdefault(lane, {})
        used[group] = used.get(group, 0) + granted
        self._next_at[lane] = now + pace.apart_s
        if granted < count:
            queue.append(group)
        more = room > granted
        other = queue[0] if queue and queue[0] != group and more else None
        again = granted < count and more and other is None
        return Grant(granted, pace.apart_s if again else None, other)

    def declare(self, group: str, at_work: Mapping[str, int]) -> set[str]:
        """Take a group's word for how many of its members are at work on each lane; return whom to tell of room.

        What it claimed and did not use is given back with this too.
        """
        tell: set[str] = set()
        for lane, used in self._used.items():
            before, after = used.get(group, 0), at_work.get(lane, 0)
            if after < before:
                tell |= self._first(lane, group)
            used.pop(group, None)
        for lane, count in at_work.items():
            if count > 0:
                self._used.setdefault(lane, {})[group] = count
        return tell

    def first(self, lane: str) -> str | None:
        """Return who is next on a lane."""
        queue = self._queue.get(lane)
        return queue[0] if queue else None

    def forget(self, group: str) -> set[str]:
        """Drop a group that has ended; return whom to tell of room."""
        waited = [lane for lane, queue in self._queue.items() if group in queue]
        for lane in waited:
            self._queue[lane].remove(group)
        tell = self.declare(group, {})
        for lane in waited:
            tell |= self._first(lane, group)
        return tell

    def unqueue(self, group: str, lane: str) -> set[str]:
        """Let a group that wants nothing of a lane any more leave its queue; return whom to tell that it is next."""
        queue = self._queue.get(lane, [])
        if group not in queue:
            return set()
        was_first = queue[0] == group
        queue.remove(group)
        return self._first(lane, group) if was_first else set()

    def _first(self, lane: str, but: str) -> set[str]:
        first = self.first(lane)
        return {first} if first is not None and first != but else set()
