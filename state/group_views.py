"""The public group object of ``--json``, made from a group's record and its members' job objects. Plain dicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..messages.vocabulary import LIVE_STATES, SCHEMA_VERSION

_LIVE = frozenset(state.value for state in LIVE_STATES)
_WAITING = frozenset({"queued", "waiting-limit"})
_DONE = frozenset({"done", "done?"})
_BLOCKED = frozenset({"blocked", "permission-blocked"})


def group_object(group: Mapping[str, Any], jobs: Iterable[Mapping[str, Any]], now: float) -> dict[str, Any]:
    """Return the group object, always with the same keys.

    ``jobs`` are the job objects of its members, in their order. ``done?`` counts as done in the summary, and
    once more as ``unverified``; what was canceled or interrupted counts as failed; a member whose record is
    gone is ``removed``, nothing else.
    """
    members = [dict(job) for job in jobs]
    named = group.get("members") or ()
    known = {job.get("job_id") for job in members}
    removed = sum(member.get("job_id") not in known for member in named)
    ended = group.get("ended")
    begun = group.get("accepted_at")
    until = ended if isinstance(ended, int | float) else now
    return {
        "schema_version": SCHEMA_VERSION,
        "group_id": group.get("group_id"),
        "fanout_id": group.get("group_id"),
        "label": group.get("label"),
        "state": _state(group),
        "verb": group.get("verb"),
        "cwd": group.get("cwd"),
        "max": group.get("most"),
        "accepted": begun,
        "ended": ended,
        "age_s": round(max(0.0, until - begun), 3) if isinstance(begun, int | float) else None,
        "summary": {**summary(members), "total": len(named) or len(members), "removed": removed},
        "refused": [dict(one) for one in group.get("refused") or ()],
        "jobs": members,
    }


def summary(jobs: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many jobs are where."""
    states = [str(job.get("state")) for job in jobs]
    queued = sum(state in _WAITING for state in states)
    live = sum(state in _LIVE for state in states)
    done = sum(state in _DONE for state in states)
    blocked = sum(state in _BLOCKED for state in states)
    return {
        "total": len(states),
        "queued": queued,
        "running": live - queued,
        "done": done,
        "unverified": states.count("done?"),
        "blocked": blocked,
        "failed": len(states) - live - done - blocked,
    }


def _state(group: Mapping[str, Any]) -> str:
    if group.get("ended") is not None:
        return "ended"
    return "canceling" if group.get("cancel_requested") else "running"
