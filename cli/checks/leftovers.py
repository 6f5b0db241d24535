"""What was left behind: processes and work trees of jobs that ended, tasks that nobody took, damaged files."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...state.home import Home
from ...state.identity import look
from ...state.reader import Reader
from ...state.views import UNSUPERVISED, derive, is_live
from .. import launch
from ..place import read_supervisor_file
from .finding import Finding

NEWEST = 500
"""Ended jobs whose processes and work trees are looked for."""
_SPOOL_AGE_S = 86400.0
_SETTLED_S = 60.0


def leftovers(home: Home) -> Iterator[Finding]:
    """Look for all of it; say so where there is none."""
    found = [*_lost(home), *_strays(home), *_spool(home), *_damaged(home)]
    yield from found or [Finding("leftovers", "ok", "none")]


def _lost(home: Home) -> Iterator[Finding]:
    running = read_supervisor_file(str(home.root))
    if running is not None and launch.alive(running):
        return
    with Reader(home.database) as reader:
        live = [record for record in reader.live() if is_live(record)]
    for record in live:
        if derive(record, look).get("supervision") == UNSUPERVISED:
            yield Finding("leftovers", "warn", f"job {record['job_id']} lost its processes", "osrc supervisor restart")


def _strays(home: Home) -> Iterator[Finding]:
    """Look at what our records say was started: by pid and start time, never by a name."""
    with Reader(home.database) as reader:
        jobs = [job for job in reader.jobs(limit=NEWEST)[0] if not is_live(job)]
        live = {str(record["session_id"]) for record in reader.live_sessions()}
        sessions = [one for one in reader.sessions(limit=NEWEST)[0] if str(one["session_id"]) not in live]
    settled = time.time() - _SETTLED_S
    for what, key, records in (("job", "job_id", jobs), ("session", "session_id", sessions)):
        for record in records:
            if float(record.get("ended") or 0.0) > settled:
                continue  # what ended just now may still be leaving
            pids = [str(pid) for name in ("shim", "holder", "delegate") if (pid := _alive(record.get(name)))]
            if pids:
                words = f"{what} {record[key]} has ended, and process {', '.join(pids)} of it still runs"
                yield Finding("leftovers", "warn", words, f"look at it, then: kill {' '.join(pids)}")
    trees = [tree for job in jobs if isinstance(tree := job.get("worktree"), str) and Path(tree).is_dir()]
    if trees:
        words = f"{len(trees)} work trees of ended jobs stand, the newest {trees[0]}"
        yield Finding("leftovers", "note", words, "osrc gc, or osrc cleanup ID")
    yield from _unknown_trees(home, jobs)


def _unknown_trees(home: Home, jobs: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Look for work trees beside those of known jobs that belong to none."""
    folders = {str(Path(tree).parent) for job in jobs if isinstance(tree := job.get("worktree"), str)}
    for folder in sorted(folders):
        for entry in _entries(folder):
            if not home.job_dir(entry.name).exists() and entry.is_dir(follow_symlinks=False):
                words = f"{entry.path} is a work tree of a job that is not known"
                yield Finding("leftovers", "warn", words, f"look at it, then: git worktree remove {entry.path}")


def _alive(identity: object) -> int | None:
    if not isinstance(identity, Mapping):
        return None
    try:
        pid, started, boot = int(identity["pid"]), float(identity["started"]), str(identity["boot_id"])
    except (KeyError, TypeError, ValueError):
        return None
    return pid if look(pid, started, boot) in ("running", "stopped") else None


def _spool(home: Home) -> Iterator[Finding]:
    old = [entry.path for entry in _entries(home.spool_dir) if _age(entry) > _SPOOL_AGE_S]
    if old:
        words = f"{len(old)} tasks in {home.spool_dir} were never taken"
        yield Finding("leftovers", "note", words, f"rm -r {home.spool_dir}", partial(_remove, old))


def _remove(paths: Sequence[str]) -> str:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            Path(path).unlink()
    return f"{len(paths)} tasks that were never taken were removed"


def _damaged(home: Home) -> Iterator[Finding]:
    damaged = [entry.name for entry in _entries(home.root) if ".damaged-" in entry.name]
    if damaged:
        yield Finding("leftovers", "note", f"set aside as damaged: {', '.join(sorted(damaged)[:5])}")


def _age(entry: os.DirEntry[str]) -> float:
    try:
        return time.time() - entry.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def _entries(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
