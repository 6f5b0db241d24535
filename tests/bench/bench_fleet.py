"""What ``osrc fleet`` costs on a machine full of other tools' sessions: the first look, the next ones, and the watching.

python tests/bench/bench_fleet.py [--sessions 300] [--gigabytes 2] [--seconds 60]

Each transcript has a written beginning and end and a hole between them, so that the disk is not filled for it.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import show
from fakes.bench_home import bench_home
from fakes.transcripts import written

PLACES = {
    "claude": ".claude/projects/-w-{0}/{1}.jsonl",
    "codex": ".codex/sessions/2026/11/{0:02}/rollout-{1}.jsonl",
    "pi": ".pi/agent/sessions/--w-{0}--/{1}.jsonl",
}
BEGINNING, END = 40 * 1024, 200 * 1024


def fill(user: Path, sessions: int, size: int) -> list[Path]:
    """Write the transcripts; return where."""
    paths = []
    for number in range(sessions):
        tool = ("claude", "codex", "pi")[number % 3]
        path = user / PLACES[tool].format(number % 20 + 1, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        more = written(tool, ("more", "words " * 60)) or b""
        head = written(tool, ("user", f"task number {number}")) or b""
        tail = written(tool, ("call", "c1", "Bash"), ("result", "c1"), ("say", "all is well")) or b""
        with path.open("wb") as file:
            file.write(head + more * (BEGINNING // len(more)))
            file.seek(max(file.tell(), size - END))
            file.write(b"\n" + more * (END // len(more)) + tail)
        paths.append(path)
    return paths


class Cost(NamedTuple):
    """What one call took, in milliseconds: by the clock, and of processors (its own and the supervisor's)."""

    wall: float
    processor: float


def cost(run: Callable[[], None], supervisor: psutil.Process | None = None) -> Cost:
    """Time one call. On a machine that is busy with something else the processor time is the truer figure."""

    def used() -> float:
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        beside = supervisor.cpu_times() if supervisor is not None else None
        return own.ru_utime + own.ru_stime + (beside.user + beside.system if beside else 0.0)

    before, began = used(), time.perf_counter()
    run()
    return Cost(1000 * (time.perf_counter() - began), 1000 * (used() - before))


def tell(what: str, costs: list[Cost], most: float | None = None) -> bool:
    """Show the medians; return whether they are within the bound, in milliseconds."""
    wall, processor = (statistics.median(column) for column in zip(*costs, strict=True))
    return show(f"`osrc fleet ls`, {what}", wall, "ms", most=most, beside=f"{processor:.0f} ms of processor")


def main() -> int:
    """Print the table; return 1 when a bound is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=300)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    with bench_home(OSRC_IDLE_EXIT="0") as home:
        home.osrc("fleet", "ls", "--json")  # its bytecode is there from now on
        (home.home / "fleet" / "offsets.json").unlink(missing_ok=True)
        user = Path(home.env["HOME"])
        paths = fill(user, given.sessions, int(given.gigabytes * 1e9 / given.sessions))
        size = sum(path.stat().st_size for path in paths) / 1e9
        full = f"{len(paths)} sessions, {size:.1f} GB"
        held = []

        def ls() -> None:
            listed = home.osrc("fleet", "ls", "--all", "--json")
            assert listed.count('"transcript": {') >= len(paths)

        held.append(tell(f"{full}, no supervisor, first look", [cost(ls)], 2000))
        tell("no supervisor, next looks", [cost(ls) for _ in range(5)])
        (home.home / "fleet" / "offsets.json").unlink()
        supervisor = psutil.Process(home.start())
        held.append(tell(f"{full}, supervisor, first look", [cost(ls, supervisor)], 2000))
        time.sleep(1.5)
        held.append(tell("supervisor, next looks", [cost(ls, supervisor) for _ in range(9)], 150))
        before, began = supervisor.cpu_times(), time.monotonic()
        while time.monotonic() - began < given.seconds:
            for path in paths[:10]:
                with path.open("ab") as file:
                    file.write(b'{"type":"noise"}\n')
            time.sleep(1.0)
        after = supervisor.cpu_times()
        used = after.user + after.system - before.user - before.system
        resident = f"{supervisor.memory_info().rss / 1e6:.0f} MB resident"
        held.append(show("watching them", 100 * used / given.seconds, "% of a core", most=2, beside=resident))
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
