"""A fan-out from its submission to the collected findings, and what the supervisor takes meanwhile.

    python tests/bench/bench_fanout.py [--members 500] [--rounds 3]

Members that do nothing (``true``), 16 at a time: ``osrc fanout``, ``wait`` and ``collect``, three commands as a
person runs them, against GNU parallel with a job log and task-spooler (where installed) doing the same number, in
turns in one run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.bench_jobs import AT_A_TIME, PARALLEL, parallel, spooler
from bench.figures import number, show
from fakes.bench_home import BenchHome, bench_home

TICKS = os.sysconf("SC_CLK_TCK")


def ours(home: BenchHome, members: int) -> list[float]:
    """Seconds until it was accepted, until all had ended, and until all was collected."""
    began = time.perf_counter()
    words = ["fanout", "--lane", "true", "--max", str(AT_A_TIME), "-q"]
    tasks = "".join(f"task {number}\n" for number in range(members))
    argv = [sys.executable, "-m", "outsourcerer", *words, "--tasks", "-"]
    made = subprocess.run(argv, env=home.env, input=tasks, check=True, stdout=subprocess.PIPE, text=True)
    accepted = time.perf_counter() - began
    group = made.stdout.strip()
    for rest in (["wait", group, "-q"], ["collect", group, "-q"]):
        argv = [sys.executable, "-m", "outsourcerer", "fanout", *rest]
        subprocess.run(argv, env=home.env, check=False, stdout=subprocess.DEVNULL)
        if rest[0] == "wait":
            ended = time.perf_counter() - began
    return [accepted, ended, time.perf_counter() - began]


def usage(pid: int) -> tuple[float, float]:
    """Highest resident MiB and processor seconds of a process so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    highest = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    stat = Path(f"/proc/{pid}/stat").read_text()
    fields = stat[stat.rfind(")") + 2 :].split()
    return highest, (int(fields[11]) + int(fields[12])) / TICKS


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--members", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    rivals = {PARALLEL: parallel} if shutil.which("parallel") else {}
    if shutil.which("tsp"):
        rivals["task-spooler"] = spooler
    rounds: list[list[float]] = []
    times: dict[str, list[float]] = {name: [] for name in rivals}
    with bench_home(OSRC_MAX_JOBS=str(AT_A_TIME), OSRC_LAUNCHES_PER_HOUR="0") as home:
        pid = home.start()
        ours(home, 20)
        _, cpu_before = usage(pid)
        for _ in range(given.rounds):
            rounds.append(ours(home, given.members))
            for name, run in rivals.items():
                times[name].append(run(given.members))
        highest, cpu = usage(pid)
    accepted, ended, whole = (statistics.median(part) for part in zip(*rounds, strict=True))
    rate = given.members / whole
    rivals_rates = {name: given.members / statistics.median(seen) for name, seen in times.items()}
    beside = [f"{name} {number(other)} ({number(rate / other)} x)" for name, other in rivals_rates.items()]
    beside.append(f"accepted after {accepted:.2f} s, ended after {ended:.2f} s, collected after {whole:.2f} s")
    show(
        f"a fan-out of {given.members}, {AT_A_TIME} at a time, to collection",
        rate,
        "members/s",
        beside=", ".join(beside),
    )
    cost = (cpu - cpu_before) / given.rounds / given.members * 1000
    show("the supervisor meanwhile, resident", highest, "MiB", beside=f"{cost:.1f} ms of processor a member")


if __name__ == "__main__":
    main()
