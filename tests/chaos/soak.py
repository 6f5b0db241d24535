"""An hour of steady work on the real thing: ``make soak``, or SOAK_MINUTES=5 of it.

A job every few seconds, a session that is spoken to, wakes that are pushed, and ``osrc gc`` every minute, as a timer
would. Sampled are the supervisor and the session's holder (resident memory, threads, descriptors), the database and
the logs; a line is fitted through each figure (the first quarter is warming up), and one that rises over its bound
fails. Before it, thirty simulated days. Needs Linux: the figures are read from /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fakes import sim_days
from fakes.growth import Bound, grown, too_much
from fakes.sessions import Sessions
from fakes.supervised import Supervised

MIB = 1024 * 1024
BOUNDS = (
    Bound("supervisor MiB", 8, " MiB"),
    Bound("supervisor threads", 2),
    Bound("supervisor descriptors", 4),
    Bound("holder MiB", 3, " MiB"),
    Bound("holder threads", 1),
    Bound("holder descriptors", 2),
    Bound("processes", 3),
    Bound("job folders", 40),
)
"""By how much a figure may rise over the run, however long it is."""
PER_JOB = {"database": 24 * 1024, "supervisor.log": 2 * 1024}
"""What grows with each job, for the journal keeps every fact: bytes per job, at most."""
PER_SEND = 8 * 1024
"""The same of a session's own events, per send."""
KEPT = "2m"
SAMPLE_S = 10.0
"""Between two samples on average; never in step with the jobs, of which then always as many would be seen at work."""
GOLDEN = 0.6180339887


class Soak:
    """See the module."""

    def __init__(self, home: Supervised, minutes: float, every_s: float) -> None:
        self.home, self.every_s = home, every_s
        self.sessions = Sessions(home)
        self.wakes = home.scratch / "wakes"
        home.environ |= {
            "OSRC_HEARTBEAT_WAKE": f'echo "$1" >> {self.wakes}',
            "OSRC_HEARTBEAT_CADENCE": "30",
            "OSRC_LAUNCHES_PER_HOUR": "0",
            "OSRC_MIN_FREE_MEMORY": "0",
            "OSRC_MIN_FREE_DISK": "0",
        }
        self.ends = time.monotonic() + 60 * minutes
        self.counts: Counter[str] = Counter()
        self.failed: list[str] = []
        self.samples: list[tuple[float, dict[str, float]]] = []
        self.session_id = ""

    def over(self) -> bool:
        return time.monotonic() > self.ends

    def _repeat(self, every_s: float, what: str, *words: str, good: tuple[int, ...] = (0,)) -> None:
        """One command again and again, at a steady rate; one that fails is told."""
        due = time.monotonic()
        while not self.over():
            done = self.home.osrc(*words, timeout=300)
            self.counts[what] += 1
            if done.returncode not in good or b"Traceback" in done.stderr:
                self.failed.append(f"{what} {self.counts[what]}: exit {done.returncode}: {done.stderr[-300:]!r}")
            due = max(due + every_s, time.monotonic())
            while time.monotonic() < due and not self.over():
                time.sleep(0.1)

    def jobs(self) -> None:
        task = '#fake: [{"say": "one"}, {"sleep": 1}, {"mark": "DONE"}, {"end": "the answer"}]'
        self._repeat(self.every_s, "jobs", "run", "--lane", "fake", "--", task)

    def troubles(self) -> None:
        """Jobs that somebody is woken for."""
        task = '#fake: [{"mark": "BLOCKED", "text": "no key"}, {"end": "blocked"}]'
        self._repeat(4 * self.every_s, "troubles", "run", "--lane", "fake", "--", task, good=(3,))

    def talk(self) -> None:
        self._repeat(2 * self.every_s, "sends", "session", "send", "talk", "say hello", "--wait")

    def tidy(self) -> None:
        self._repeat(60.0, "gcs", "gc", "--older-than", KEPT)

    def run(self) -> None:
        self.session_id = self.sessions.start("--name", "talk", "say hello")
        self.sessions.until_state(self.session_id, "idle")
        began = time.monotonic()
        workers = [threading.Thread(target=work) for work in (self.jobs, self.troubles, self.talk, self.tidy)]
        for worker in workers:
            worker.start()
        while not self.over():
            self.samples.append((time.monotonic() - began, self.look()))
            time.sleep(SAMPLE_S * (0.5 + len(self.samples) * GOLDEN % 1))
        for worker in workers:
            worker.join()

    def look(self) -> dict[str, float]:
        root = self.home.root
        figures: dict[str, float] = {
            "processes": len(self.home.processes()),
            "job folders": len(list((root / "jobs").iterdir())),
            "database": sum(path.stat().st_size for path in root.glob("state.db") if path.exists()),
            "supervisor.log": size(root / "supervisor.log"),
            "session events": size(root / "sessions" / self.session_id / "events.jsonl"),
            "jobs": self.counts["jobs"] + self.counts["troubles"],
            "sends": self.counts["sends"],
        }
        holder = (self.sessions.record(self.session_id).get("holder") or {}).get("pid")
        for name, pid in (("supervisor", next(iter(self.home.daemons()), None)), ("holder", holder)):
            if pid is not None:
                figures |= {f"{name} {what}": value for what, value in process(pid).items()}
        return figures

    def found(self) -> list[str]:
        """What must not be."""
        found = too_much(self.samples, BOUNDS) + self.failed[:20]
        for name, most in PER_JOB.items():
            found += self._each(name, "jobs", most)
        found += self._each("session events", "sends", PER_SEND)
        if not self.wakes.exists():
            found.append("nobody was woken")
        facts = Counter(fact["job_id"] for fact in self.home.facts("job.ended"))
        found += [f"{job} ended {times} times" for job, times in facts.items() if times > 1]
        return found

    def _each(self, name: str, of: str, most: float) -> list[str]:
        rise, count = (grown([(at, figures[which]) for at, figures in self.samples]) for which in (name, of))
        return (
            [f"{name}: {rise / count:.0f} bytes for each of {of} (bound {most})"]
            if count and rise / count > most
            else []
        )

    def table(self) -> str:
        names = sorted({name for _, figures in self.samples for name in figures})
        lines = [f"{'':28} {'first':>10} {'last':>10} {'most':>10} {'fitted rise':>12}"]
        for name in names:
            points = [(at, figures[name]) for at, figures in self.samples if name in figures]
            values = [value for _, value in points]
            lines.append(
                f"{name:28} {values[0]:>10.1f} {values[-1]:>10.1f} {max(values):>10.1f} {grown(points):>12.2f}"
            )
        return "\n".join(lines)


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def process(pid: int) -> dict[str, float]:
    """Resident MiB, threads and descriptors; nothing for one that is gone."""
    try:
        rows = dict(
            line.split(":", 1)
            for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
        )
        return {
            "MiB": int(rows["VmRSS"].split()[0]) / 1024,
            "threads": int(rows["Threads"]),
            "descriptors": sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()),
        }
    except (OSError, KeyError, ValueError):
        return {}


def simulated() -> list[str]:
    """Thirty days with twenty-four jobs each."""
    place = Path(tempfile.mkdtemp(prefix="osrc-days-"))
    try:
        samples = sim_days.days(place, jobs_a_day=24)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(f"thirty simulated days, {samples[-1][1]['jobs']:.0f} jobs: {json.dumps(samples[-1][1])}")
    print(f"  {sim_days.bytes_per_job(samples):.0f} bytes of journal for each job", flush=True)
    return too_much(samples, sim_days.BOUNDS)


def main() -> int:
    """Run; 1 where something grew or went wrong."""
    words = argparse.ArgumentParser(prog="soak.py", description=__doc__)
    words.add_argument("--minutes", type=float, default=float(os.environ.get("SOAK_MINUTES") or 60))
    words.add_argument("--every", type=float, default=5.0, help="seconds between two jobs")
    said = words.parse_args()
    found = simulated()
    place = Path(tempfile.mkdtemp(prefix="osrc-soak-"))
    home = Supervised(place)
    try:
        soak = Soak(home, said.minutes, said.every)
        soak.run()
        print(soak.table())
        print(
            f"asked: {dict(soak.counts)}; wakes: {len(soak.wakes.read_text().splitlines()) if soak.wakes.exists() else 0}"
        )
        found += soak.found()
        soak.sessions.osrc("stop", "talk")
        home.close()
    finally:
        home.kill_all()
        shutil.rmtree(place, ignore_errors=True)
    print("\n".join(found) or f"{said.minutes:g} minutes: nothing grew beyond its bound")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
