"""What still runs by the records, whether or not a supervisor looks after it: for ``supervisor stop --cancel``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .output import say
from .render.plain import one_line

_MOST = 6
"""So many are named."""


@dataclass(frozen=True, slots=True)
class Left:
    """What has not ended; what waits for its turn does not run."""

    jobs: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    """Their names."""
    checks: tuple[str, ...] = ()
    """The loops whose check runs."""
    elsewhere: tuple[str, ...] = ()
    """Jobs that live commands look after by themselves (``--no-daemon``): they end with those."""

    def __bool__(self) -> bool:
        """Whether there is anything that a supervisor would look after."""
        return bool(self.jobs or self.sessions or self.checks)

    def words(self) -> str:
        """Return it for people: what, how many, and which."""
        kinds = (("job", self.jobs), ("session", self.sessions), ("check of a loop", self.checks))
        return " and ".join(_counted(kind, names) for kind, names in kinds if names)


def left(root: str) -> Left:
    """Read what the records of a state home say. Raises StateError where they can't be read."""
    from ..state.loops_reader import live_loops  # noqa: PLC0415 - not on the warm path
    from ..state.reader import Reader  # noqa: PLC0415 - as above

    if not os.path.lexists(f"{root}/state.db") and not os.path.lexists(f"{root}/jobs"):
        return Left()
    with Reader(f"{root}/state.db") as reader:
        jobs = [record for record in reader.live() if _at_work(record)]
        sessions = reader.live_sessions()
        checks = [loop_id for loop_id in live_loops(reader) if _checks(root, reader, loop_id)]
    theirs = {str(record["job_id"]) for record in jobs if _owned(record)}
    return Left(
        jobs=tuple(job_id for job_id in (str(record["job_id"]) for record in jobs) if job_id not in theirs),
        sessions=tuple(str(record.get("name")) for record in sessions),
        checks=tuple(checks),
        elsewhere=tuple(sorted(theirs)),
    )


def legible(root: str) -> Left | None:
    """Return the same; None where the records can't be read as they are."""
    from ..state.errors import StateError  # noqa: PLC0415 - as above

    try:
        return left(root)
    except StateError:
        return None


def tell_elsewhere(found: Left) -> None:
    """Say which jobs go on because other commands look after them."""
    if found.elsewhere:
        verb = "goes" if len(found.elsewhere) == 1 else "go"
        say(
            f"osrc: {_counted('job', found.elsewhere)} {verb} on: commands without a supervisor look after them; "
            f"osrc cancel ID ends one."
        )


def _counted(kind: str, names: tuple[str, ...]) -> str:
    head, _, tail = kind.partition(" ")
    many = f"{head}{'' if len(names) == 1 else 's'}{' ' + tail if tail else ''}"
    shown = ", ".join(names[:_MOST]) + (", ..." if len(names) > _MOST else "")
    return one_line(f"{len(names)} {many} ({shown})", 400)


def _at_work(record: Mapping[str, Any]) -> bool:
    """Whether it has, gets or had a process: one that waits for its turn, or for a limit to end, has none."""
    return record.get("state") != "queued" and record.get("wake_at") is None


def _owned(record: Mapping[str, Any]) -> bool:
    owner = record.get("owner")
    return isinstance(owner, Mapping) and _look(owner) in ("running", "stopped")


def _checks(root: str, reader: Any, loop_id: str) -> bool:  # noqa: ANN401 - a Reader; its import stays off the warm path
    """Whether the check of a loop's step runs, that nobody has asked to end."""
    from ..state.loops_reader import loop  # noqa: PLC0415 - not on the warm path

    record = loop(reader, loop_id) or {}
    for step in () if _owned(record) else record.get("steps") or ():
        folder = f"{root}/loops/{loop_id}/check-{step.get('number')}"
        over = any(os.path.lexists(f"{folder}/{name}") for name in ("stop", "exit.json"))
        if step.get("role") == "check" and step.get("ended") is None and not over and os.path.lexists(folder):
            return True
    return False


def _look(identity: Mapping[str, Any]) -> str:
    from ..state.identity import look  # noqa: PLC0415 - only where processes are looked at

    try:
        return look(int(identity["pid"]), float(identity["started"]), str(identity["boot_id"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return "gone"
