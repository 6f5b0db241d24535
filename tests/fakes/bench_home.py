"""A scratch state home with a supervisor of its own, for benchmarks."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fakes.lanes import fake_argv, lane_toml, write_lane
from fakes.osrc_process import environment
from outsourcerer.cli.client import Connection


class BenchHome:
    """One state home; ``connect`` gives a connection to its supervisor."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.home = folder / "home"
        self.env = environment(self.home, PYTHONPYCACHEPREFIX=str(folder / "pyc"), **settings)
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)
        write_lane(self.home, "true", lane_toml(argv=["/bin/true"], output="text", agentic=False))
        write_lane(self.home, "fake", lane_toml(argv=fake_argv("osrc-jsonl")))

    def osrc(self, *words: str) -> str:
        """Run one command; return its stdout."""
        argv = [sys.executable, "-m", "outsourcerer", *words]
        return subprocess.run(argv, env=self.env, check=True, stdout=subprocess.PIPE, text=True).stdout

    def start(self) -> int:
        """Start the supervisor; return its pid."""
        process = subprocess.Popen(
            [sys.executable, "-m", "outsourcerer.actors.daemon", "--home", str(self.home)],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        place = self.home / "supervisor.json"
        deadline = time.monotonic() + 60
        while not place.exists():
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError("the supervisor did not start")
            time.sleep(0.01)
        return process.pid

    def connect(self):
        """Return a new connection."""
        return Connection(json.loads((self.home / "supervisor.json").read_text())["socket"])

    def request(self, lane: str, task: str) -> dict[str, object]:
        """Return the body of a submission."""
        block = b"\0".join(os.fsencode(f"{name}={value}") for name, value in self.env.items())
        request = {"task": task, "lane": lane, "cwd": "/", "environment": base64.b64encode(block).decode()}
        return {"kind": "job.submit", "request": request}


@contextmanager
def bench_home(**settings: str) -> Iterator[BenchHome]:
    """A home that is gone afterwards, its supervisor and jobs ended."""
    with TemporaryDirectory(prefix="osrc-bench-") as name:
        home = BenchHome(Path(name), **settings)
        try:
            yield home
        finally:
            argv = [sys.executable, "-m", "outsourcerer", "supervisor", "stop", "--cancel"]
            subprocess.run(argv, env=home.env, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
