"""What a supervisor costs while nothing happens: processor and memory, idle and with quiet jobs.

python tests/bench/bench_idle.py [--seconds 60] [--jobs 200]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import show
from fakes.bench_home import bench_home


def cost(process: psutil.Process, seconds: float) -> tuple[float, float]:
    """Return (share of one processor in percent, resident MB) over a stretch of time."""
    before = process.cpu_times()
    time.sleep(seconds)
    after = process.cpu_times()
    used = after.user + after.system - before.user - before.system
    return 100 * used / seconds, process.memory_info().rss / 1e6


NONE_MEASURABLE = 0.05
"""Percent of a core: three ticks of the kernel's clock in a minute."""


def main() -> int:
    """Print the table; return 1 when a bound is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=200)
    given = parser.parse_args()
    with bench_home(OSRC_MAX_JOBS=str(given.jobs), OSRC_IDLE_EXIT="0") as home:
        home.start()
        home.osrc("supervisor", "stop")  # from now on all is compiled, as in an installation
        supervisor = psutil.Process(home.start())
        home.osrc("status")
        time.sleep(2)
        cpu, memory = cost(supervisor, given.seconds)
        held = [
            show("an idle supervisor", cpu, "% of a core", most=NONE_MEASURABLE),
            show("an idle supervisor, resident", memory, "MB", most=60),
        ]
        connection = home.connect()
        step = json.dumps([{"say": "quiet now"}, {"sleep": 3600}])
        for _ in range(given.jobs):
            (reply,) = connection.exchange(home.request("fake", f"#fake: {step}"))
            assert reply["kind"] == "accepted", reply
        time.sleep(15)
        cpu, memory = cost(supervisor, given.seconds)
        quiet = f"{given.jobs} quiet jobs"
        shims = [
            child for child in psutil.process_iter(["cmdline"]) if "shim.py" in " ".join(child.info["cmdline"] or ())
        ]
        own = sum(shim.memory_full_info().uss for shim in shims) / 1e6
        shim = f"each of {len(shims)} shims has {own / max(1, len(shims)):.2f} MB of its own"
        held += [
            show(f"a supervisor with {quiet}", cpu, "% of a core", most=3),
            show(f"a supervisor with {quiet}, resident", memory, "MB", most=120, beside=shim),
        ]
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
