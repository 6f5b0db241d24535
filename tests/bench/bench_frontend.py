"""Start-up of the front end against a warm supervisor, as a ratio of ``python -c "import click"``.

    python tests/bench/bench_frontend.py [--runs N]

Interleaved: each round runs every command once, so that a busy machine is busy for all of them.
Prints medians and ratios; exits 1 when a ratio is over its bound.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import show
from fakes.osrc_process import environment

BOUND = 1.5
LANE = """\
summary = "Ends at once."
argv = ["/bin/true"]
stdin = "prompt"
output = "text"
local = true
billing = { kind = "free", words = "$0" }
[verbs]
run = "READ-ONLY"
"""


def commands(folder: Path) -> dict[str, list[str]]:
    """What is measured; ``import click`` is the unit."""
    script = folder / "osrc"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nfrom outsourcerer.cli.main import main\n"
        'if __name__ == "__main__":\n    sys.exit(main())\n'
    )
    script.chmod(0o755)
    return {
        "import click": [sys.executable, "-c", "import click"],
        "osrc status": [str(script), "status"],
        "osrc bg": [str(script), "bg", "--lane", "nothing", "do nothing"],
        "osrc --version": [str(script), "--version"],
    }


def measure(runs: int) -> dict[str, float]:
    """Return the median wall time of each command in seconds."""
    with tempfile.TemporaryDirectory(prefix="osrc-bench-") as name:
        folder = Path(name)
        home = folder / "home"
        (home / "lanes.d").mkdir(mode=0o700, parents=True)
        home.chmod(0o700)
        (home / "lanes.d" / "nothing.toml").write_text(LANE)
        # Compiled files as an installation has them, whatever this shell says about writing them.
        env = environment(home, PYTHONPYCACHEPREFIX=str(folder / "pyc"))
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        measured = commands(folder)
        times: dict[str, list[float]] = {label: [] for label in measured}
        try:
            for label, argv in measured.items():  # starts the supervisor, compiles everything
                subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL)
                assert label
            for _ in range(runs):
                for label, argv in measured.items():
                    began = time.perf_counter()
                    subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    times[label].append(time.perf_counter() - began)
        finally:
            subprocess.run(
                [measured["osrc status"][0], "supervisor", "stop", "--cancel"],
                env=env,
                check=False,
                stdout=subprocess.DEVNULL,
                timeout=60,
            )
    return {label: statistics.median(seen) for label, seen in times.items()}


def main() -> int:
    """Print the table; return 1 when a bound is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=40)
    medians = measure(parser.parse_args().runs)
    unit = medians["import click"]
    held = []
    for label, median in medians.items():
        if label.startswith("osrc"):
            bound = BOUND if label in ("osrc status", "osrc bg") else None
            beside = f"{median * 1000:.0f} ms and {unit * 1000:.0f} ms"
            held.append(
                show(f'`{label}`, warm, to `python -c "import click"`', median / unit, "x", most=bound, beside=beside)
            )
    return int(not all(held))


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.exit(main())
