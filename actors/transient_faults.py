"""Crashes that are nobody's fault: no room on the disk, no descriptors left, a store that can't be opened for now.

What a job, a session, a group or a loop is given up for is a fault of its own. For what befalls the whole machine its
actor waits and is started again: what runs goes on meanwhile, and the next look finds what it did. The same holds for
those who look after them, up to the root: they read the same store as they start.
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


def is_machine_wide(error: str) -> bool:
    """Whether a crash is of the kind that befalls the whole machine, however long that lasts."""
    return error.removeprefix(_STARTS).startswith(_WORDS)


@dataclass(slots=True)
class TransientFaults:
    """Which children of one supervisor wait for better times. Times are monotonic seconds."""

    patience_s: float = PATIENCE_S
    _troubles: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Child → when its trouble began, and when it was met last."""

    def tolerate(self, name: str, error: str, now: float) -> bool:
        """Whether a crash costs the child nothing of its budget. To be asked at each crash.

        One that crashes on after ``patience_s`` is not tolerated until it stood for ``FORGOTTEN_S``.

        >>> transient_faults = TransientFaults()
        >>> transient_faults.tolerate("job:a", "StateError: the disk is full", 0.0)
        True
        >>> transient_faults.tolerate("job:a", "ValueError: a fault of its own", 1.0)
        False
        """
        self._troubles = {one: seen for one, seen in self._troubles.items() if now - seen[1] <= FORGOTTEN_S}
        if not is_machine_wide(error):
            self._troubles.pop(name, None)
            return False
        began, _ = self._troubles.get(name, (now, now))
        self._troubles[name] = (began, now)
        return now - began <= self.patience_s
