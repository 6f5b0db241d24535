"""Restart intensity: how many crashes are bad luck, and when it is time to give up. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class RestartBudget:
    """At most ``most`` restarts within ``within_s``; each one waits longer than the one before.

    Budgets multiply down a tree (a parent that allows 3 of a child that allows 5 allows 15), so no two
    levels should copy each other's number.
    """

    most: int
    within_s: float
    first_delay_s: float = 0.05
    longest_delay_s: float = 5.0
    spent: tuple[float, ...] = ()
    """Monotonic times of the restarts that still count."""

    def charge(self, now: float) -> tuple[RestartBudget, float | None]:
        """Return the budget after one more crash, and the delay in seconds before the restart.

        The delay is None when the budget is spent: the supervisor must give up.
        """
        recent = tuple(t for t in self.spent if now - t < self.within_s)
        if len(recent) >= self.most:
            return replace(self, spent=recent), None
        delay = 0.0 if not recent else min(self.longest_delay_s, self.first_delay_s * 2 ** (len(recent) - 1))
        return replace(self, spent=(*recent, now)), delay
