"""``osrc status`` with many finished jobs in the store, as a ratio to the same with ten.

python tests/bench/bench_store.py [--jobs 10000] [--runs 30]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import show
from fakes.bench_home import BenchHome, bench_home
from outsourcerer.messages.facts import JobAccepted, JobEnded
from outsourcerer.messages.job import JobRecord
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.store import Store


def fill(home: BenchHome, jobs: int) -> None:
    """Put finished jobs into the store."""
    store = Store.open(home.home / "state.db", now=0.0)
    for number in range(jobs):
        job_id = f"20260101-000000-{number:012x}"
        record = JobRecord(
            job_id=job_id,
            lane="true",
            vehicle="true",
            provider="true",
            verb="run",
            posture="READ-ONLY",
            cwd="/",
            accepted_at=float(number),
        )
        ended = JobEnded(job_id=job_id, state=JobState.DONE, exit=0)
        store.append([JobAccepted(job_id=job_id, record=record), ended], at=float(number))
    store.commit()
    store.close()


def main() -> int:
    """Print the table; return 1 when a bound is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=30)
    given = parser.parse_args()
    with bench_home() as small, bench_home() as large:
        for home, jobs in ((small, 10), (large, given.jobs)):
            fill(home, jobs)
            home.start()
            home.osrc("status")
        times: dict[int, list[float]] = {10: [], given.jobs: []}
        argv = [sys.executable, "-m", "outsourcerer", "status", "--limit", "10"]
        for _ in range(given.runs):
            for home, jobs in ((small, 10), (large, given.jobs)):
                began = time.perf_counter()
                subprocess.run(argv, env=home.env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                times[jobs].append(time.perf_counter() - began)
    few, many = (statistics.median(times[jobs]) for jobs in (10, given.jobs))
    beside = f"{many * 1000:.0f} ms and, with ten jobs, {few * 1000:.0f} ms"
    what = f"`osrc status` with {given.jobs:,} ended jobs, to the same with ten"
    return int(not show(what, many / few, "x", most=1.2, beside=beside))


if __name__ == "__main__":
    sys.exit(main())
