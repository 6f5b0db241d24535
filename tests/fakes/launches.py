"""Job folders that a shim can start, and the processes that tests of them must not leave behind."""

import json
import os
import signal
import sys
from pathlib import Path

from outsourcerer.actors.tree import JOB_VARIABLE
from outsourcerer.messages.job import Identity
from outsourcerer.state.ids import new_job_id
from outsourcerer.state.job_folder import JobFolder
from outsourcerer.state.processes import read_process, snapshot

PYTHON = sys.executable


def launchable(
    jobs: Path,
    code: str = "",
    *,
    argv: list[str] | None = None,
    cwd: str | None = None,
    stdin: bytes | None = None,
    env: dict[str, str] | None = None,
    **more: object,
) -> JobFolder:
    """Return a job folder with a launch of ``python -c code``, or of ``argv``."""
    path = jobs / new_job_id(1_800_000_000.0, os.urandom(6))
    path.mkdir(mode=0o700, parents=True)
    if stdin is not None:
        (path / "stdin").write_bytes(stdin)
    launch = {
        "argv": argv or [PYTHON, "-I", "-S", "-c", code],
        "env": {"PATH": os.defpath, JOB_VARIABLE: path.name, **(env or {})},
        "cwd": cwd or str(jobs),
        "stdin": "stdin" if stdin is not None else None,
        "umask": 0o027,
        **more,
    }
    (path / "launch.json").write_text(json.dumps(launch))
    return JobFolder(path)


def write_spawn(folder: Path, attempt: int, spawn: dict[str, object]) -> None:
    """Make an attempt's claim name its processes, as its shim does."""
    claim = {"by": "shim", **(spawn.get("shim") or {})}
    (folder / f"claim.{attempt}").write_text(f"{json.dumps(claim)}\n{json.dumps(spawn)}\n")


def read_spawn(folder: Path, attempt: int) -> dict[str, object]:
    """Return the processes that an attempt's claim names."""
    return json.loads((folder / f"claim.{attempt}").read_text().splitlines()[1])


def bearers(job_id: str) -> list[int]:
    """Return the living processes that inherited a job's id."""
    found = []
    for row in snapshot().values():
        try:
            block = Path(f"/proc/{row.pid}/environ").read_bytes()
        except OSError:
            continue
        if f"{JOB_VARIABLE}={job_id}".encode() in block.split(b"\0") and row.state != "Z":
            found.append(row.pid)
    return found


def sweep(folders: list[JobFolder]) -> None:
    """End whatever a test left of these jobs."""
    for folder in folders:
        spawn = folder.read_spawn(1)
        named = [spawn.shim, spawn.delegate] if spawn else []
        for pid in [*bearers(folder.job_id), *(p.pid for p in named if p is not None and alive(p))]:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue


def alive(process: Identity | None) -> bool:
    """Whether a process of our records still runs."""
    if process is None:
        return False
    row = read_process(process.pid)
    return row is not None and row.started == process.started and row.state != "Z"
