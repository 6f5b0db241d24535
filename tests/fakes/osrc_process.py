"""The front end as a real process, with a home of its own and nothing of the caller's environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import outsourcerer

PACKAGE_PARENT = str(Path(outsourcerer.__path__[0]).parent)
_LAUNCH = "import sys; sys.argv[0] = 'osrc'; from outsourcerer.cli.main import main; main()"


def environment(home: Path, **more: str) -> dict[str, str]:
    """A small environment in which this very package is found."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": os.pathsep.join([PACKAGE_PARENT, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "HOME": str(home.parent),
        "OSRC_HOME": str(home),
        "LANG": "C.UTF-8",
        **more,
    }


def command(*words: str | bytes) -> list[str | bytes]:
    """The argv of one command."""
    return [sys.executable, "-c", _LAUNCH, *words]


def osrc(
    home: Path,
    *words: str | bytes,
    stdin: bytes | None = None,
    cwd: Path | str | None = None,
    timeout: float = 240,
    **more: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run one command to its end."""
    return subprocess.run(
        command(*words),
        input=stdin if stdin is not None else None,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        env=environment(home, **more),
        cwd=cwd or home.parent,
        timeout=timeout,
        check=False,
    )


def start(home: Path, *words: str, **more: str) -> subprocess.Popen[bytes]:
    """Start one command in a session of its own; the caller ends it."""
    return subprocess.Popen(
        command(*words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home, **more),
        cwd=home.parent,
        start_new_session=True,
    )


def shown(done: subprocess.CompletedProcess[bytes]) -> str:
    """Both outputs and the exit code, for an assertion's message."""
    return f"exit {done.returncode}\nstdout: {done.stdout[-2000:]!r}\nstderr: {done.stderr[-2000:]!r}"


def parsed(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """stdout as the one JSON object it must be."""
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 1, shown(done)
    value = json.loads(lines[0])
    assert value["schema_version"] == "1", value
    return value


def until(condition: Callable[[], object], seconds: float = 120) -> None:
    """Wait until something is true; fails when it does not come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)
