"""One line at the end of any command about jobs that run and nobody looks at; and one where nobody will be woken.

Neither changes an exit code, and neither may fail. A warm command pays one look for a small file that mostly is empty.
"""

from __future__ import annotations

import json
import os
import sys

from .output import say

FILE = "unwatched.json"
_LIMIT = 64 * 1024
_NAMED = 3
_SINKS = ("OSRC_HEARTBEAT_WAKE", "OSRC_HEARTBEAT_SINK", "OSRC_HEARTBEAT_WEBHOOK", "OSRC_HEARTBEAT_DESKTOP")


def mention(root: str) -> None:
    """Name the jobs that have run unseen for longer than ``OSRC_UNWATCHED_AFTER``. Never raises."""
    try:
        told = unseen(root)
    except Exception:  # noqa: BLE001 - a hint must not hide what the command did
        return
    if told:
        say(f"unwatched: {told}. Look with: osrc rundown")


def supervise(root: str, *, quiet: bool) -> None:
    """Say that nobody will be woken, where a detached launch has no terminal and no wake is armed. Never raises."""
    try:
        if quiet or sys.stderr.isatty():
            return
        why = _not_woken(root)
    except Exception:  # noqa: BLE001 - as above
        return
    if why:
        say(f"ASYNC SUPERVISION: {why}")


def _not_woken(root: str) -> str | None:
    """Return why nobody will be woken, or not whom the caller named, and what helps; None where all is well."""
    from .preferences import flag  # noqa: PLC0415 - loaded with the command

    given = {name: value for name in _SINKS if (value := os.environ.get(name))}
    if not flag("heartbeat_desktop"):
        given.pop("OSRC_HEARTBEAT_DESKTOP", None)
    named = bool(given) or _kept(root)
    if named and _stopped(root):
        return "the heartbeat is stopped, so nobody is told when this needs you or ends. Start it: osrc heartbeat start"
    useless = [name for name, value in given.items() if not _usable(name, value)]
    if useless:
        return f"{useless[0]} names nothing that can be woken (osrc heartbeat -h): nobody is told there of this."
    if named:
        return None
    return (
        "no wake is armed, so nobody is told when this needs you or ends. "
        "Set OSRC_HEARTBEAT_WAKE=CMD (osrc heartbeat -h), or wait for it."
    )


def _usable(name: str, value: str) -> bool:
    """Whether a sink of the environment can be one at all, as far as can be told without trying it."""
    if name == "OSRC_HEARTBEAT_SINK":
        there = os.path.exists(value) and not os.path.isdir(value)  # noqa: PTH110, PTH112 - no pathlib here
        return there and os.path.isabs(value)  # noqa: PTH117 - as above
    if name == "OSRC_HEARTBEAT_WEBHOOK":
        from ..state.errors import StateError  # noqa: PLC0415 - most people have no webhook
        from ..state.heartbeat_file import Arming, check  # noqa: PLC0415 - as above

        try:
            check(Arming(webhook=value))
        except StateError:
            return False
    return bool(value.strip())


def _stopped(root: str) -> bool:
    """Whether somebody stopped the heartbeat, and nobody started it since."""
    from ..state.alarms_reader import beat  # noqa: PLC0415 - only at a detached launch without a terminal
    from ..state.reader import Reader  # noqa: PLC0415 - as above

    with Reader(f"{root}/state.db") as reader:
        known = beat(reader)
    return known is not None and not known.armed


def unseen(root: str) -> str | None:
    """Return which jobs have run unseen for too long, in words without a full stop; None where there are none.

    What is torn or odd in the list raises whatever it does.
    """
    data = _read(f"{root}/{FILE}")
    if not data:
        return None
    kept = json.loads(data)
    import time  # noqa: PLC0415 - only where a job runs

    from ..state.identity import look  # noqa: PLC0415 - as above
    from .preferences import number  # noqa: PLC0415 - as above
    from .render.lines import age  # noqa: PLC0415 - as above
    from .render.plain import one_line  # noqa: PLC0415 - as above

    after = number("unwatched_after", 120)
    by, jobs = kept.get("by"), kept.get("jobs")
    if after <= 0 or not isinstance(by, dict) or not isinstance(jobs, list):
        return None
    now = time.time()
    alone = [job for job in jobs if now - float(job["since"]) > after]
    if not alone or look(int(by["pid"]), float(by["started"]), str(by["boot_id"])) != "running":
        return None  # a supervisor that was killed says nothing of now
    named = [
        f"{one_line(str(job['job_id']), 40)} ({one_line(str(job['label']), 30)}, {age(now - float(job['since']))})"
        for job in alone[:_NAMED]
    ]
    more = f" and {len(alone) - _NAMED} more" if len(alone) > _NAMED else ""
    noun = "job runs" if len(alone) == 1 else "jobs run"
    return f"{len(alone)} {noun} that nobody has looked at: {', '.join(named)}{more}"


def _kept(root: str) -> bool:
    """Whether sinks were armed before, or stand in config.toml."""
    data = _read(f"{root}/heartbeat.json")
    if data and json.loads(data).get("sinks"):
        return True
    from .preferences import configured  # noqa: PLC0415 - only where the environment names none

    return any(configured(f"heartbeat_{name}") for name in ("wake", "sink", "webhook", "desktop"))


def _read(path: str) -> bytes:
    """Return a small regular file; empty where there is none."""
    from .place import open_regular  # noqa: PLC0415 - loaded with the command

    try:
        descriptor = open_regular(path)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _LIMIT)
    finally:
        os.close(descriptor)
