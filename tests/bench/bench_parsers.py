"""How fast each lane's parser reads what its CLI really prints, in MB/s of one core.

python tests/bench/bench_parsers.py [--mb 100] [--least 20] [LANE ...]

The recorded runs of a lane are read over and over in pieces of 64 KiB, each run by a parser of its own,
until so many megabytes are through. Exits 1 if a lane stays under ``--least``.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import show
from fakes.recorded import STREAMS, TASK
from outsourcerer.lanes.contract import Lane
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import ExitStatus

MEGABYTE = 1_000_000
CHUNK = 64 * 1024
TURN = 4 * MEGABYTE
"""About so much of one run is repeated before its turn is ended and a new parser begins."""


def material(place: Path) -> list[bytes]:
    """Return the recorded runs of a lane, each repeated to about ``TURN`` bytes."""
    runs = [path.read_bytes() for path in sorted(place.glob("*.out"))]
    return [run * max(1, TURN // len(run)) for run in runs if len(run) > 1000]


def rate(lane: Lane, runs: list[bytes], size: int) -> float:
    """Return megabytes per second of processor time over ``size`` bytes."""
    done, spent = 0, 0.0
    while done < size:
        for run in runs:
            parser = lane.parser(TASK)
            start = time.process_time()
            for place in range(0, len(run), CHUNK):
                parser.feed(run[place : place + CHUNK])
            parser.finish(ExitStatus(code=0))
            spent += time.process_time() - start
            done += len(run)
            if done >= size:
                break
    return done / MEGABYTE / spent


def main() -> int:
    """Print one line per lane."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mb", type=float, default=100)
    options.add_argument("--least", type=float, default=20)
    options.add_argument("lanes", nargs="*", metavar="LANE")
    chosen = options.parse_args()
    held = []
    for place in sorted(STREAMS.glob("*/*")):
        name = place.parent.name
        if chosen.lanes and name not in chosen.lanes:
            continue
        speed = rate(builtin(name), material(place), int(chosen.mb * MEGABYTE))
        held.append(show(f"reading a stream of `{name}`", speed, "MB/s", least=chosen.least))
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
