"""What a job that did not end well has left behind all the same. Looks at its own run and its own folder only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import Any, Literal

GIT_S = 5.0
"""Longest wait for git."""
DELEGATE = "delegate@outsourcerer.invalid"
"""Whom delegates commit as, unless the person set an identity."""
_SLACK_S = 1.0


def work_of(job: Mapping[str, Any]) -> Literal["commits", "writes"] | None:
    """Return what is provably the job's: commits of its run in its folder, or files that its own tools wrote.

    Only of verbs that may write. Commits count by the delegates' identity and the time of the run, so that those of
    the person beside it never do; with an identity of the person's own there is no telling, and none count.
    """
    if job.get("verb") not in ("edit", "yolo", "research"):
        return None
    started, ended = job.get("started"), job.get("ended")
    if isinstance(started, int | float) and isinstance(ended, int | float) and _commits(job, started, ended):
        return "commits"
    writes = (job.get("progress") or {}).get("writes")
    return "writes" if isinstance(writes, int) and not isinstance(writes, bool) and writes > 0 else None


def _commits(job: Mapping[str, Any], started: float, ended: float) -> bool:
    folder = job.get("worktree") or job.get("cwd")
    if not isinstance(folder, str) or not os.path.isdir(folder):  # noqa: PTH112 - a plain look
        return False
    words = (
        "git",
        "-C",
        folder,
        "log",
        "-n1",
        "--format=%H",
        "--all",
        "--fixed-strings",
        f"--author={DELEGATE}",
        f"--since=@{int(started - _SLACK_S)}",
        f"--until=@{int(ended + _SLACK_S)}",
    )
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **quiet},
            timeout=GIT_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(done.stdout.strip())
