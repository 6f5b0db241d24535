"""The order of a run's tests, so that no worker is left alone at its end with the long ones.

pytest-xdist (``--dist worksteal``) gives each worker a run of neighbours, and whoever has none left takes from the end
of another's. So each run of neighbours begins with its share of the tests that take seconds, and ends with those that
take none: what is left when the first worker has nothing to do can be taken in portions of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar

T = TypeVar("T")

SECONDS = {"chaos": 6.0, "e2e": 6.0, "integration": 2.0}
"""What a test in one of these folders takes, roughly; in any other it takes next to nothing."""
LONG = {
    "test_terminal_sessions.py": 20.0,
    "test_session_clis.py": 20.0,
    "test_storms.py": 15.0,
    "test_day_in_its_life.py": 30.0,
    "test_sessions.py": 12.0,
    "test_sessions_without_fork.py": 12.0,
}
"""The same, of files whose tests are far from what is usual in their folder."""


def seconds(path: str) -> float:
    """What one test of a file takes, roughly; ``path`` has slashes and begins below ``tests``."""
    folder, _, rest = path.partition("/")
    return LONG.get(rest, SECONDS.get(folder, 0.0)) if folder in SECONDS else 0.0


def dealt(tests: Sequence[tuple[str, T]], workers: int) -> list[T]:
    """Return the tests, each with its file's path, in the order in which so many workers should be given them.

    A file's tests stay together, as they may share what was costly to make.
    """
    files = [(path, [test for _, test in rows]) for path, rows in groupby(tests, key=lambda row: row[0])]
    costs = {place: seconds(path) * len(rows) for place, (path, rows) in enumerate(files)}
    shares: list[list[T]] = [[] for _ in range(workers)]
    sums = [0.0] * workers
    for place in sorted((place for place, cost in costs.items() if cost), key=lambda place: (-costs[place], place)):
        least = sums.index(min(sums))
        sums[least] += costs[place]
        shares[least] += files[place][1]
    short = [test for place, (_, rows) in enumerate(files) if not costs[place] for test in rows]
    order: list[T] = []
    left = len(tests)
    for place, share in enumerate(shares):
        size = left // (workers - place)
        left -= size
        more = max(0, size - len(share))
        order += share + short[:more]
        del short[:more]
    return order + short
