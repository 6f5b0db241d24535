"""``osrc tab`` over a ledger of many rows, ``brief`` beside it, and what the tap adds to a status line.

python tests/bench/bench_tab.py [--rows 100000] [--runs 15]
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import show
from fakes.osrc_process import command, environment
from outsourcerer.cli import statusline
from outsourcerer.cli.tap_settings import command as tap_command
from outsourcerer.state.store import Store

BOUND_MS = 300.0
TAP_BOUND_MS = 30.0
SPENT = ("measured", "estimated", "unknown", "plan", "local")
_ROW = "INSERT INTO ledger VALUES (?, 1, ?, ?, ?, ?, 1, ?, ?, ?, 1, 1200, 300, 0, 90, 10, NULL)"


def fill(database: Path, rows: int) -> None:
    """Put rows of a year and some thirty lanes and models into the ledger."""
    Store.open(database, now=0.0).close()
    db = sqlite3.connect(database)
    begin, step = 1.79e9, 365 * 86400 / rows
    db.executemany(
        _ROW,
        (
            (
                *(f"20260101-000000-{number:012x}", begin + number * step, f"lane{number % 7}"),
                *(f"vendor/model-{number % 31}", f"g{number % 50}", SPENT[number % 5], f"pool{number % 3}"),
                *(number * 1000,),
            )
            for number in range(rows)
        ),
    )
    db.commit()
    db.close()


def timed(argv: Sequence[str], env: Mapping[str, str] | None, runs: int) -> float:
    """Return the median time of a process, in milliseconds."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run(argv, env=env, check=True, input=b"{}", stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def main() -> int:
    """Print the table; return 1 when a bound is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=15)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="osrc-bench-") as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        fill(home / "state.db", given.rows)
        env = environment(home)
        held = []
        for words in (*(("tab", "--by", by) for by in ("lane", "model", "day", "group")), ("brief",)):
            middle = timed(command(*words), env, given.runs)
            held.append(show(f"`osrc {' '.join(words)}`, {given.rows:,} rows", middle, "ms", most=BOUND_MS))
        plain, tapped = (
            timed(["/bin/sh", "-c", line], None, given.runs)
            for line in ("cat", tap_command(sys.executable, statusline.__file__, str(home), "cat"))
        )
        held.append(show("what the tap adds to a status line", tapped - plain, "ms", most=TAP_BOUND_MS))
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
