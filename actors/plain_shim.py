"""A shim that nobody forked: one process per job, with the promises and the records of ``shim.py``.

It takes the claim, starts the delegate held (``suspended.py``), writes who both are, empties ``launch.json``, lets the
delegate begin, waits, writes ``exit.json`` and ends what was left. What ``shim.py`` says through a named pipe it says
on its standard output, which its supervisor reads while it lives.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from ..state.identity import boot_id, identify
from . import shim
from .suspended import Start, Starter, Suspended

_BROKEN = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError)
"""What a launch that is no launch, or a delegate that can't be started, raises."""


def be_shim(folder: Path, attempt: int, starter: Starter) -> None:
    """Be the shim of one attempt."""
    _prepare()
    place = os.fsencode(folder)
    me = _identity(os.getpid())
    claimed = shim.claim(place, attempt, me)
    if claimed is None:
        return

    def tell(what: str, survivors: Sequence[int] = ()) -> None:
        with contextlib.suppress(OSError):  # nobody may listen any more
            os.write(1, shim.hint(folder.name, attempt, what, survivors))

    try:
        held = _begin(folder, attempt, me, claimed, starter)
    except _BROKEN as error:
        shim.empty(os.fsencode(folder / "launch.json"))
        shim.write_exit(place, shim.exit_record(attempt, error=shim.describe(error)))
        tell("exited")
        tell("gone")
        return
    tell("spawned")
    code, number = held.wait()
    shim.conclude(place, shim.exit_record(attempt, code=code, signal=number), held.left, held.end_left, tell)


def _prepare() -> None:
    """Outlive our starter, and on Linux be told of orphans."""
    os.umask(0o077)
    shim.set_signals()
    for number in shim.IGNORED:  # heard and forgotten: what is ignored, the delegate would inherit as ignored
        signal.signal(number, lambda *_: None)
    if hasattr(signal, "SIGCHLD"):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if shim.LINUX:
        with contextlib.suppress(OSError):
            ctypes.CDLL(None, use_errno=True).prctl(shim.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _begin(folder: Path, attempt: int, me: dict[str, object], claimed: int, starter: Starter) -> Suspended:
    """Start the delegate held, write the spawn record, let it begin."""
    descriptor = os.open(folder / "launch.json", os.O_RDWR | shim.NOFOLLOW | shim.BINARY)
    launch = json.loads(shim.read_all(descriptor, close=False))
    logs = [_log(folder, name) for name in ("out.log", "err.log")]
    umask = launch.get("umask")
    held = starter(
        Start(
            job_id=folder.name,
            argv=launch["argv"],
            env=launch["env"],
            cwd=launch["cwd"],
            umask=umask if isinstance(umask, int) else 0o022,
            stdin=os.fspath(folder / launch["stdin"]) if launch["stdin"] else os.devnull,
            out=logs[0],
            err=logs[1],
        )
    )
    try:
        delegate = _identity(held.pid)
        record: dict[str, object] = {"attempt": attempt, "shim": me, "delegate": delegate, "at": time.time()}
        shim.write_all(claimed, json.dumps(record).encode() + b"\n")
        os.ftruncate(descriptor, 0)
        held.release()
    except OSError:
        held.drop()
        raise
    for unneeded in (claimed, descriptor, *logs):
        os.close(unneeded)
    return held


def _identity(pid: int) -> dict[str, object]:
    """Name a process as the supervisor does: where there is no /proc, two ways to ask may differ by a second."""
    return {**(identify(pid) or {"pid": pid, "started": 0, "boot_id": boot_id()})}


def _log(folder: Path, name: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | shim.NOFOLLOW | shim.BINARY
    return os.open(folder / name, flags, 0o600)
