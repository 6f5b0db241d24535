"""How long the look at a scope takes, beside ``find`` on the same tree; and how fast text is searched and cleaned.

python tests/bench/bench_scan.py [--files 100000] [--mb 100] [--most 1.0] [--least 20]

The tree is looked at once to warm it, then five times; the best counts. Exits 1 above ``--most`` seconds or
below ``--least`` MB/s.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import show
from fakes.secret_corpus import SECRETS
from outsourcerer.actors.scope_scan import scan
from outsourcerer.lanes.secrets.values import Redactor, find

PER_FOLDER = 20
CHUNK = 64 * 1024


def plant(root: Path, files: int) -> None:
    """Make a source tree of so many empty files."""
    for number in range(files // PER_FOLDER):
        folder = root / f"package{number // 50}" / f"module{number % 50}"
        folder.mkdir(parents=True)
        for name in range(PER_FOLDER):
            (folder / f"file_{name}.py").touch()


def best(work: Callable[[], object], times: int = 5) -> float:
    """Return the seconds of the quickest of several runs, after one that warms."""
    work()
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    return min(spent)


def listing(root: str) -> None:
    """Run ``find`` over it."""
    subprocess.run(["find", root], stdout=subprocess.DEVNULL, check=True)


def text(megabytes: float) -> bytes:
    """Return source code with a secret in each 50 KB or so."""
    rnd = random.Random(3)
    sources = [path.read_bytes() for path in sorted(Path(__file__).parents[2].rglob("*.py"))[:200]]
    parts: list[bytes] = []
    size = 0
    while size < megabytes * 1e6:
        part = b"".join(rnd.choices(sources, k=5)) + SECRETS[rnd.choice(sorted(SECRETS))](rnd).encode() + b"\n"
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def clean(data: bytes) -> int:
    """Clean a stream; return how many values were in it."""
    redactor = Redactor(("a key that was handed over",))
    for place in range(0, len(data), CHUNK):
        redactor.feed(data[place : place + CHUNK])
    redactor.finish()
    return redactor.count


def main() -> int:
    """Print what was measured."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--files", type=int, default=100_000)
    options.add_argument("--mb", type=float, default=100)
    options.add_argument("--most", type=float, default=1.0)
    options.add_argument("--least", type=float, default=20)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plant(Path(folder), chosen.files)
        ours = best(lambda: scan([folder], deadline_s=600, clock=time.monotonic))
        theirs = best(lambda: listing(os.fspath(folder)))
    beside = f"`find` {theirs:.3f} s: {ours / theirs:.2f} x"
    what = f"the search for credential files in {chosen.files:,}"
    held = [show(what, ours, "s", most=chosen.most, beside=beside)]
    data = text(chosen.mb)
    start = time.process_time()
    hits = len(find(data.decode("utf-8", "replace")))
    found = len(data) / 1e6 / (time.process_time() - start)
    start = time.process_time()
    count = clean(data)
    cleaned = len(data) / 1e6 / (time.process_time() - start)
    held += [
        show("the search for secret values in a text", found, "MB/s", least=chosen.least, beside=f"{hits:,} found"),
        show("taking them out of a stream", cleaned, "MB/s", least=chosen.least, beside=f"{count:,} taken out"),
    ]
    return int(not all(held))


if __name__ == "__main__":
    raise SystemExit(main())
