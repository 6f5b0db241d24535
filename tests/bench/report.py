"""All benchmarks in one run, as one table.

    python tests/bench/report.py [--write] [NAME ...]

Runs ``bench_NAME.py`` (all of them, one after the other, if none is named), prints one table of their figures
with the machine they were taken on, and with ``--write`` puts it into ``docs/benchmarks.md``. Exits 1 when a
figure is over its bound or a benchmark did not end well.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import KEPT_IN, Figure, table

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def file_system(folder: str) -> str:
    """Name the type of the file system a folder is on."""
    mounts = [mount for mount in psutil.disk_partitions(all=True) if Path(folder).is_relative_to(mount.mountpoint)]
    return max(mounts, key=lambda mount: len(mount.mountpoint)).fstype if mounts else "an unknown file system"


def machine(load: float, today: dt.date) -> str:
    """Say in a sentence where and when the figures were taken; ``load`` is the load average before them."""
    system = f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    return (
        f"{today}; {psutil.cpu_count()} cores, {round(psutil.virtual_memory().total / 2**30)} GiB; {system}, "
        f"{platform.python_implementation()} {platform.python_version()}; scratch files on "
        f"{file_system(tempfile.gettempdir())}; load average {load:.1f} at the start."
    )


def measure(names: Sequence[str]) -> tuple[list[Figure], list[str]]:
    """Run benchmarks; return their figures, and the names of those that did not end well."""
    failed = []
    with tempfile.TemporaryDirectory(prefix="osrc-bench-") as folder:
        kept = Path(folder) / "figures.jsonl"
        kept.touch()
        for name in names:
            print(f"== {name}", flush=True)
            argv = [sys.executable, str(HERE / f"bench_{name}.py")]
            if subprocess.run(argv, env={**os.environ, KEPT_IN: str(kept)}, check=False).returncode:
                failed.append(name)
        lines = kept.read_text(encoding="utf-8").splitlines()
    return [Figure(**json.loads(kept_line)) for kept_line in lines], failed


def put_into(page: str, measured: str) -> str:
    """Return a page with the part between its marks replaced; raises ``ValueError`` where it has none."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no place for the table: {BEGIN} and {END} are missing")
    return f"{head}{BEGIN}\n{measured}\n{END}{tail}"


def main() -> int:
    """Measure, print, write; return the exit code."""
    known = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    parser = argparse.ArgumentParser(description="Run benchmarks as one table.")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(known)):
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    if given.write and given.names:
        parser.error("--write takes all benchmarks: what the page shows is of one run")
    where = machine(os.getloadavg()[0], dt.datetime.now(tz=dt.UTC).date())
    figures, failed = measure(given.names or known)
    measured = f"{where}\n\n{table(figures)}"
    print(f"\n{measured}")
    if given.write and not figures:
        raise SystemExit("nothing was measured")
    if given.write:
        PAGE.write_text(put_into(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")
    if failed:
        print(f"\nshort, or not ended well: {', '.join(failed)}")
    return int(bool(failed) or not all(figure.holds for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
