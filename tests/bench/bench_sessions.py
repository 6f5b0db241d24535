"""What sessions cost: the supervisor's memory and processor with many of them idle, and each holder's memory.

python tests/bench/bench_sessions.py [--sessions 50] [--seconds 20]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import show
from fakes.sessions import Sessions
from fakes.supervised import Supervised, until


def megabytes(processes: list[psutil.Process]) -> list[float]:
    """Resident MB of each."""
    return [process.memory_info().rss / 1e6 for process in processes]


def main() -> int:
    """Print the table; return 1 when a bound is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Supervised(Path(folder))
        sessions = Sessions(home)
        try:
            home.ok("bg", "run", "--lane", "fake", "--", '#fake: [{"say": "x"}]')
            supervisor = psutil.Process(until(home.daemons, "a supervisor runs")[0])
            time.sleep(3)
            before = megabytes([supervisor])[0]
            for number in range(given.sessions):
                sessions.ok("start", "--lane", "claude", "--name", f"s{number}", "--detach")
            held = [sessions.until_state(str(row["session_id"]), "idle")["holder"]["pid"] for row in rows(sessions)]
            time.sleep(2)
            start = supervisor.cpu_times()
            time.sleep(given.seconds)
            end = supervisor.cpu_times()
            used = 100 * (end.user + end.system - start.user - start.system) / given.seconds
            after = megabytes([supervisor])[0]
            holders = sorted(megabytes([psutil.Process(pid) for pid in held]))
        finally:
            home.close()
    cost = f"{before:.0f} MB before; {used:.2f} % of a core"
    return int(
        not all(
            (
                show(f"what {len(held)} sessions add to a supervisor", after - before, "MB", most=10, beside=cost),
                show("a session's holder, the largest", holders[-1], "MB", most=25, beside=f"least {holders[0]:.1f}"),
            )
        )
    )


def rows(sessions: Sessions) -> list[dict[str, object]]:
    """Every session of the home."""
    return json.loads(sessions.ok("list", "--limit", "0", "--json"))["sessions"]


if __name__ == "__main__":
    sys.exit(main())
