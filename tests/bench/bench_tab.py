"""``osrc tab`` over a ledger of many rows, as a whole process.

python tests/bench/bench_tab.py [--rows 100000] [--runs 15]
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from fakes.osrc_process import command, environment
from outsourcerer.state.store import Store

BOUND_MS = 300.0
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=15)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="osrc-bench-") as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        fill(home / "state.db", given.rows)
        for by in ("lane", "model", "day", "group"):
            times = []
            for _ in range(given.runs):
                began = time.perf_counter()
                env = environment(home)
                subprocess.run(command("tab", "--by", by), env=env, check=True, stdout=subprocess.DEVNULL)
                times.append((time.perf_counter() - began) * 1000)
            middle = statistics.median(times)
            sys.stdout.write(f"tab --by {by:6} {given.rows} rows  {middle:7.1f} ms  (bound {BOUND_MS:.0f})\n")


if __name__ == "__main__":
    main()
