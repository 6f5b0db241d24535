"""Crashes that are nobody's fault: no room on the disk, no descriptors left, a store that can't be opened for now.

What a job, a session, a group or a loop is given up for is a fault of its own. For what befalls the whole machine its
actor waits and is started again: what runs goes on meanwhile, and the next look finds what it did.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PATIENCE_S = 600.0
"""How long one trouble may last before it counts as its own after all."""
FORGOTTEN_S = 120.0
"""After so long without a crash the next trouble is another one."""
PAUSE_S = 5.0
"""Until the next try."""
_WORDS = ("StateError:", "OSError:", "sqlite3.OperationalError:", "OperationalError:")
_STARTS = "failed to start: "


@dataclass(slots=True)
class Excuses:
    """Which children of one supervisor wait for better times. Times are monotonic seconds."""

    patience_s: float = PATIENCE_S
    _troubles: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Child → when its trouble began, and when it was met last."""

    def grant(self, name: str, error: str, now: float) -> bool:
        """Whether a child that is out of budget is started again all the same, ``PAUSE_S`` later.

        >>> excuses = Excuses()
        >>> excuses.grant("job:a", "StateError: the disk is full", 0.0)
        True
        >>> excuses.grant("job:a", "ValueError: a fault of its own", 1.0)
        False
        """
        if not error.removeprefix(_STARTS).startswith(_WORDS):
            self._troubles.pop(name, None)
            return False
        began, last = self._troubles.get(name, (now, now))
        if now - last > FORGOTTEN_S:
            began = now
        self._troubles[name] = (began, now)
        if now - began <= self.patience_s:
            return True
        del self._troubles[name]
        return False
