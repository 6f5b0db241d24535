"""Storms until so many faults have happened: ``make chaos FAULTS=10000 SEED=1``.

    run_chaos.py [--faults N] [--seed S] [--real N] [--talk N] [--workers N]    storms S, S+1, ... and one table
    run_chaos.py --only sim:1234[:3,7,12] | talk:1234[:3,7] | real:1234    one storm again, told in full

Most storms are simulated: the real tree, store and files, on a machine that is not there (``fakes/sim_world.py``);
a seed gives the same history to the last step. ``--real`` faults fall on real processes (``fakes/real_storm.py``);
there a seed gives the same plan of work, faults and times, and the operating system the rest.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent.parent))

from fakes.chaos_storm import planned, storm  # noqa: E402  found by the line above
from fakes.real_storm import real_storm  # noqa: E402  as above
from fakes.talk_storm import planned as planned_talk  # noqa: E402  as above
from fakes.talk_storm import talk_storm  # noqa: E402  as above

ORDER = "0"
"""``PYTHONHASHSEED``: in what order a set is gone through belongs to a history too."""
TRIES = 40
REAL_SHARE = 0.03
TALK_SHARE = 0.25
STORMS = {"sim": (storm, planned), "talk": (talk_storm, planned_talk)}
"""Kinds of simulated storms: jobs, loops and crews; or sessions."""


def scratch() -> Path:
    """Where storms play: in memory if there is such a place, always under one name, for paths are part of a history."""
    memory = Path("/dev/shm")
    base = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    return base / f"osrc-chaos-{os.getuid()}"


def play(seed: int, only: list[int] | None = None, kind: str = "sim") -> dict[str, Any]:
    """One simulated storm."""
    folder = scratch() / f"{'t' if kind == 'talk' else ''}{seed:010d}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"lock-{seed % 64}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be at this very seed; the kernel frees it, whoever is killed
        shutil.rmtree(folder, ignore_errors=True)  # what a killed one left
        folder.mkdir()
        try:
            made = STORMS[kind][0](seed, folder, only)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return {
        "seed": seed,
        "faults": dict(made.faults),
        "violations": [str(violation) for violation in made.violations],
        "rules": sorted({violation.rule for violation in made.violations}),
        "jobs": made.jobs,
        "log": made.log,
        "crashes": made.crashes,
    }


def shortest(seed: int, rules: list[str], kind: str) -> list[int]:
    """Leave out faults as long as the same rule is broken; return those that are needed."""
    kept = list(range(len(STORMS[kind][1](seed)[0])))
    size, tries = len(kept) // 2, 0
    while size and tries < TRIES:
        place = 0
        while place < len(kept) and tries < TRIES:
            tries += 1
            fewer = kept[:place] + kept[place + size :]
            if set(play(seed, fewer, kind)["rules"]) & set(rules):
                kept = fewer
            else:
                place += size
        size //= 2
    return kept


def work(first: int, by: int, kind: str) -> None:
    """Storm after storm, a line for each, until nobody reads."""
    seed = first
    while True:
        print(json.dumps(play(seed, kind=kind)), flush=True)
        seed += by


class Run:
    """Workers, and what they found."""

    def __init__(self, faults: int, seed: int, workers: int, kind: str) -> None:
        self.wanted, self.seed, self.workers, self.kind = faults, seed, workers, kind
        self.faults: Counter[str] = Counter()
        self.found: list[dict[str, Any]] = []
        self.storms = self.jobs = 0
        self.broken: list[str] = []
        self._lock = threading.Lock()

    def simulate(self) -> None:
        command = [sys.executable, str(HERE), "--work"]
        environ = {**os.environ, "PYTHONHASHSEED": ORDER}
        lines = [f"{self.seed + place}:{self.workers}:{self.kind}" for place in range(self.workers)]
        started = [subprocess.Popen([*command, line], stdout=subprocess.PIPE, env=environ, text=True) for line in lines]
        threads = [threading.Thread(target=self._read, args=(process,)) for process in started]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for process in started:
            process.kill()
            process.wait()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with self._lock:
                if sum(self.faults.values()) >= self.wanted:
                    return
                self.take(json.loads(line))
        self.broken.append(f"a worker left with {process.wait()} before it was told to")

    def take(self, played: dict[str, Any]) -> None:
        self.faults.update(played["faults"])
        self.storms += 1
        self.jobs += played["jobs"]
        if played["violations"]:
            self.found.append(played)
            print(f"{self.kind} storm {played['seed']}: {'; '.join(played['violations'])}", flush=True)


def table(title: str, faults: Counter[str]) -> str:
    rows = [f"  {count:>7}  {name}" for name, count in sorted(faults.items(), key=lambda item: (-item[1], item[0]))]
    return "\n".join([f"{title}: {sum(faults.values())} faults", *rows])


def run(faults: dict[str, int], seed: int, workers: int) -> int:
    """Play so many faults of each kind, tell, return the exit code."""
    began, found, broken = time.monotonic(), 0, 0
    for kind, title in (("sim", "jobs asked for"), ("talk", "sessions and jobs asked for")):
        if not faults[kind]:
            continue
        simulated = Run(faults[kind], seed, workers, kind)
        simulated.simulate()
        print(table(f"simulated ({simulated.storms} storms, {simulated.jobs} {title})", simulated.faults))
        found += len(simulated.found)
        for played in simulated.found[:5]:
            places = ",".join(map(str, shortest(played["seed"], played["rules"], kind)))
            print(f"again, shortest: make chaos SEED={played['seed']} ONLY={kind}:{played['seed']}:{places}")
        for words in simulated.broken:
            print(words)
            broken += 1
    if faults["real"]:
        found += run_real(faults["real"], seed)
    print(f"seed {seed}: {found} storms with violations, {time.monotonic() - began:.0f} s")
    return 1 if found or broken else 0


def run_real(faults: int, seed: int) -> int:
    """The same on real processes; return how many storms broke a rule."""
    counted: Counter[str] = Counter()
    storms = found = 0
    while sum(counted.values()) < faults:
        place = Path(tempfile.mkdtemp(prefix="osrc-chaos-"))
        made = real_storm(seed + storms, place)
        shutil.rmtree(place, ignore_errors=True)
        counted += made.faults
        if made.violations:
            found += 1
            print(f"real storm {seed + storms}: {'; '.join(map(str, made.violations))}")
            print("\n".join(made.log[-120:]))
            print(f"the same plan again: make chaos ONLY=real:{seed + storms}", flush=True)
        storms += 1
    print(table(f"real processes ({storms} storms)", counted))
    return found


def again(which: str) -> int:
    """One storm, told in full."""
    kind, seed, *rest = which.split(":")
    if kind == "real":
        place = Path(tempfile.mkdtemp(prefix="osrc-chaos-"))
        made = real_storm(int(seed), place)
        shutil.rmtree(place, ignore_errors=True)
        print("\n".join([*made.log, *map(str, made.violations)]))
        print(f"{sum(made.faults.values())} faults, {len(made.violations)} violations")
        return 1 if made.violations else 0
    if os.environ.get("PYTHONHASHSEED") != ORDER:
        os.environ["PYTHONHASHSEED"] = ORDER
        os.execv(sys.executable, [sys.executable, *sys.argv])
    places = [int(place) for place in rest[0].split(",")] if rest and rest[0] else None
    played = play(int(seed), places, kind)
    print("\n".join([*played["log"], *played["crashes"], *played["violations"]]))
    print(f"{sum(played['faults'].values())} faults, {len(played['violations'])} violations")
    return 1 if played["violations"] else 0


def main() -> int:
    """Read the words."""
    words = argparse.ArgumentParser(prog="run_chaos.py", description=__doc__)
    words.add_argument("--faults", type=int, default=10_000)
    words.add_argument("--seed", type=int, default=None)
    words.add_argument("--real", type=int, default=None, help="how many of them on real processes (3 in 100)")
    words.add_argument("--talk", type=int, default=None, help="how many of them in storms of sessions (25 in 100)")
    words.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    words.add_argument("--only", action="append")
    words.add_argument("--work", help=argparse.SUPPRESS)
    said = words.parse_args()
    if said.work:
        first, by, kind = said.work.split(":")
        work(int(first), int(by), kind)
    if said.only:
        return max([again(which) for which in said.only])
    seed = int(time.time()) if said.seed is None else said.seed
    real = int(said.faults * REAL_SHARE) if said.real is None else said.real
    talk = int(said.faults * TALK_SHARE) if said.talk is None else said.talk
    return run({"sim": max(0, said.faults - real - talk), "talk": talk, "real": real}, seed, said.workers)


if __name__ == "__main__":
    sys.exit(main())
