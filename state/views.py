"""The public job object of ``--json``, made from a record. Plain dicts: no pydantic on a looking command.

Also what may be said of a job whose supervisor is not there to ask (``derive``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..messages.vocabulary import LIVE_STATES, SCHEMA_VERSION, JobState, repeats

Look = Callable[[int, float, str], str]
"""``identity.look``."""

UNSUPERVISED = "none"
"""``supervision`` of a live job whose processes are gone while no supervisor runs: its verdict is due."""

_LIVE = frozenset(state.value for state in LIVE_STATES)
_QUEUED = JobState.QUEUED.value
_COPIED = (
    "job_id",
    "label",
    "group_id",
    "provider",
    "lane",
    "vehicle",
    "verb",
    "shape",
    "model",
    "model_observed",
    "conversation",
    "continues",
    "retries",
    "tier",
    "effort",
    "state",
    "exit",
    "reason",
    "outcome",
    "started",
    "ended",
    "cwd",
    "worktree",
    "branch",
    "base",
    "after",
    "priority",
    "supervision",
    "note",
)
_HOP = ("attempt", "lane", "vehicle", "model", "model_observed", "outcome", "reason", "ended", "why")
_PROGRESS: dict[str, Any] = {"last_marker": None, "reads": 0, "writes": 0, "bash": 0, "percent": None}
_COST: dict[str, Any] = {"kind": "unknown", "cash_usd": None, "measured": False, "plan": None, "tokens": None}


def job_object(
    record: Mapping[str, Any], home_root: str, now: float, live: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the job object, always with the same keys.

    ``live`` is what a supervisor knows beyond the record (for example a fresher ``progress``): it
    replaces keys of the object and may add none. ``started`` is when the delegate's process was
    first seen, null before; ``age_s`` counts from acceptance to the end, or to ``now``. Unknown is
    null, and so is a reason that only repeats the state. The id that signs markers is never in it.
    """
    job_id = record.get("job_id")
    folder = f"{home_root}/jobs/{job_id}"
    found: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    for key in _COPIED:
        found[key] = record.get(key)
    if found["note"] is None and found["state"] == _QUEUED and record.get("after"):
        found["note"] = f"starts once these are done: {', '.join(map(str, record['after']))}"
    found["status"] = None  # in its place among the keys; filled below
    found["age_s"] = _age(record, now)
    found["progress"] = _filled(_PROGRESS, record.get("progress"))
    found["cost"] = _filled(_COST, record.get("cost"))
    hops = record.get("hops")
    known = hops if isinstance(hops, list | tuple) else ()
    found["hops"] = [_hop(over, folder) for over in known if isinstance(over, Mapping)]
    found["wake_at"] = record.get("wake_at")
    found["result_path"] = f"{folder}/last.txt"
    found["log_path"] = f"{folder}/out.log"
    for key, value in (live or {}).items():
        if key == "progress":
            found[key] = _filled(found[key], value)
        elif key in found:
            found[key] = value
    if repeats(found["state"], found["reason"]):
        found["reason"] = None
    found["status"] = found["state"]
    return found


def is_live(record: Mapping[str, Any]) -> bool:
    """Whether the job has not ended."""
    state = record.get("state")
    return isinstance(state, str) and state in _LIVE


def derive(record: Mapping[str, Any], look: Look) -> dict[str, Any]:
    """Return the record as it may be believed without a supervisor. Nothing is written.

    A live job that had processes, all gone now, keeps its state: how it ended is told by its output,
    which a supervisor reads. Its ``supervision`` is ``none``, and its note says that the verdict is due
    and what brings it. A stopped delegate gets a note. A job that never had a process stays what it was.
    """
    seen = dict(record)
    if not is_live(record):
        return seen
    known = [identity for identity in (record.get("delegate"), record.get("shim")) if isinstance(identity, Mapping)]
    if not known:
        return seen
    states = [_look(identity, look) for identity in known]
    if any(state == "running" for state in states):
        if states[0] == "stopped" and isinstance(record.get("delegate"), Mapping):
            seen["note"] = "the delegate's process is stopped (SIGSTOP)"
        return seen
    if "stopped" in states:
        seen["note"] = "its processes are stopped (SIGSTOP)"
    else:
        seen["supervision"] = UNSUPERVISED
        wait = f"osrc wait {record.get('job_id')}"  # first: a table cuts the rest
        seen["note"] = f"its verdict is due: {wait} (its processes are gone, and no supervisor runs)"
    return seen


def _look(identity: Mapping[str, Any], look: Look) -> str:
    try:
        return look(int(identity["pid"]), float(identity["started"]), str(identity["boot_id"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return "gone"


def _age(record: Mapping[str, Any], now: float) -> float | None:
    begun, ended = record.get("accepted_at"), record.get("ended")
    if not isinstance(begun, int | float):
        return None
    until = ended if isinstance(ended, int | float) else now
    return round(max(0.0, until - begun), 3)


def _hop(over: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return an earlier attempt, always with the same keys."""
    found: dict[str, Any] = {key: over.get(key) for key in _HOP}
    found["cost"] = _filled(_COST, over.get("cost"))
    found["log_path"] = f"{folder}/attempts/{over.get('attempt')}/out.log"
    return found


def _filled(base: Mapping[str, Any], given: object) -> dict[str, Any]:
    """Return ``base`` with the values that ``given`` has for its keys."""
    if not isinstance(given, Mapping):
        return dict(base)
    return {key: given.get(key, default) for key, default in base.items()}
