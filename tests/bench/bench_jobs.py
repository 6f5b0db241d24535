"""Throughput and launch overhead of jobs.

    python tests/bench/bench_jobs.py [--jobs 500] [--rounds 3]

500 jobs of ``true``, 16 at a time, every decision on disk, against GNU parallel with a job log (alone, and
with ``--results``, which keeps each job's output in files as we do) and task-spooler (where installed)
doing the same, in turns in one run, on the file system that is named (``TMPDIR`` chooses it). The submissions go over eight
connections, as eight callers would send them: a front-end process per job would measure Python's
start-up 500 times. Then the overhead of one job on a quiet supervisor: from the moment its acceptance
is answered to the delegate's first instruction.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import number, show
from fakes.bench_home import BenchHome, bench_home

AT_A_TIME = 16
CALLERS = 8


def ours(home: BenchHome, jobs: int) -> float:
    """Seconds for all jobs to be ended and journalled."""
    began = time.perf_counter()

    def call(count: int) -> None:
        connection = home.connect()
        for serial in range(count):
            (reply,) = connection.exchange(home.request("true", f"job {serial}"))
            assert reply["kind"] == "accepted", reply
        connection.close()

    shares = [jobs // CALLERS + (n < jobs % CALLERS) for n in range(CALLERS)]
    callers = [threading.Thread(target=call, args=(share,)) for share in shares]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    watcher = home.connect()
    while next(iter(watcher.exchange({"kind": "supervisor.status"})))["live_jobs"]:
        time.sleep(0.01)
    return time.perf_counter() - began


def parallel(jobs: int, *, results: bool = False) -> float:
    """The same with GNU parallel; with ``results`` what each job says is kept in files."""
    with tempfile.TemporaryDirectory() as folder:
        words = "\n".join(map(str, range(jobs)))
        kept = ["--results", f"{folder}/results"] if results else []
        argv = ["parallel", "--joblog", f"{folder}/log", *kept, f"-j{AT_A_TIME}", "true", "#"]
        began = time.perf_counter()
        subprocess.run(argv, input=words, text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.perf_counter() - began


def spooler(jobs: int) -> float:
    """The same with task-spooler."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "TS_SOCKET": f"{folder}/socket", "TMPDIR": folder}
        subprocess.run(["tsp", "-S", str(AT_A_TIME)], env=env, check=True)
        began = time.perf_counter()
        for _ in range(jobs):
            subprocess.run(["tsp", "-n", "true"], env=env, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["tsp", "-w"], env=env, check=False)
        seconds = time.perf_counter() - began
        subprocess.run(["tsp", "-K"], env=env, check=False)
        return seconds


def overhead(home: BenchHome, runs: int) -> list[float]:
    """Seconds from the accepted reply to the delegate's process running, for single jobs."""
    seen = []
    connection = home.connect()
    for serial in range(runs):
        mark = Path(tempfile.gettempdir()) / f"osrc-bench-{os.getpid()}-{serial}"
        step = json.dumps([{"run": ["/bin/sh", "-c", f"date +%s.%N > '{mark}'"], "quiet": True}, {"end": "ok"}])
        (reply,) = connection.exchange(home.request("fake", f"#fake: {step}"))
        answered = time.time()
        assert reply["kind"] == "accepted", reply
        *_, _ = connection.exchange({"kind": "follow.jobs", "selection": {"select": "ids", "ids": [reply["job_id"]]}})
        claim = home.home / "jobs" / str(reply["job_id"]) / "claim.1"
        seen.append(json.loads(claim.read_text().splitlines()[1])["at"] - answered)
        mark.unlink(missing_ok=True)
    return seen


def file_system(folder: str) -> str:
    """Return the kind of file system that a folder is on, as far as the system tells."""
    device = Path(folder).stat().st_dev
    try:
        rows = [row.split() for row in Path("/proc/self/mountinfo").read_text().splitlines()]
    except OSError:
        return "unknown"
    kinds = [row[row.index("-") + 1] for row in rows if row[2] == f"{os.major(device)}:{os.minor(device)}"]
    return kinds[-1] if kinds else "unknown"


PARALLEL = "GNU parallel --joblog"


def main() -> int:
    """Print the table; return 1 when a bound is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    rivals: dict[str, Callable[[int], float]] = {}
    if shutil.which("parallel"):
        rivals[PARALLEL] = parallel
        rivals[f"{PARALLEL} --results"] = partial(parallel, results=True)
    if shutil.which("tsp"):
        rivals["task-spooler"] = spooler
    times: dict[str, list[float]] = {"outsourcerer": []} | {name: [] for name in rivals}
    with bench_home(OSRC_MAX_JOBS=str(AT_A_TIME)) as home:
        home.start()
        ours(home, 20)
        for _ in range(given.rounds):
            times["outsourcerer"].append(ours(home, given.jobs))
            for name, run in rivals.items():
                times[name].append(run(given.jobs))
        single = overhead(home, 30)
    rates = {name: given.jobs / statistics.median(seen) for name, seen in times.items()}
    rate = rates.pop("outsourcerer")
    beside = ", ".join(f"{name} {number(other)} ({number(rate / other)} x)" for name, other in rates.items())
    what = f"{given.jobs} jobs of `true`, {AT_A_TIME} at a time, on {file_system(tempfile.gettempdir())}"
    fast = show(what, rate, "jobs/s", least=rates.get(PARALLEL), beside=beside)
    at_once = show("a job accepted to its delegate's process", statistics.median(single) * 1000, "ms", most=50)
    return int(not (fast and at_once))


if __name__ == "__main__":
    sys.exit(main())
