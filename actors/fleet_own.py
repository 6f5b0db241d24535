"""Our own jobs and sessions, as rows of the fleet; and which processes and conversations are theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..lanes.fleet_state import of_own
from ..state.errors import StateError
from ..state.home import Home
from ..state.identity import look
from ..state.reader import Reader
from ..state.session_views import derive as derive_session
from ..state.session_views import is_live as session_is_live
from ..state.views import derive, is_live

MOST = 500


@dataclass(slots=True)
class Own:
    """What is ours."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    pids: set[int] = field(default_factory=set)
    """Delegates, shims and holders: whatever runs below one of them is ours."""
    conversations: dict[str, int] = field(default_factory=dict)
    """The CLI's own id of a conversation → its row."""
    left: set[str] = field(default_factory=set)
    """Conversations of attempts that were moved elsewhere: ours, and the row is of the attempt that came after."""
    problem: str | None = None


def own(home: Home, since: float, now: float) -> Own:
    """Return our live jobs and sessions, and those that ended since then (epoch seconds)."""
    found = Own()
    try:
        with Reader(home.database) as reader:
            jobs = {str(row.get("job_id")): row for row in (*reader.jobs(limit=MOST)[0], *reader.live())}
            known = (*reader.sessions(limit=MOST)[0], *reader.live_sessions())
            sessions = {str(row.get("session_id")): row for row in known}
    except StateError as error:
        found.problem = f"our own jobs can't be read: {error}"
        return found
    for row in jobs.values():
        if is_live(row) or _ended(row) >= since:
            _add(found, _job(derive(row, look), now), row, ("delegate", "shim"))
    for row in sessions.values():
        if session_is_live(row) or _ended(row) >= since:
            _add(found, _session(derive_session(row, look), now), row, ("delegate", "holder"))
    return found


def _add(found: Own, made: dict[str, Any], record: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        identity = record.get(name)
        if record.get("ended") is None and isinstance(identity, Mapping) and _lives(identity):
            found.pids.add(identity["pid"])
            if name == "delegate":
                made["pid"], made["pid_started"] = identity["pid"], identity.get("started")
    if isinstance(record.get("conversation"), str):
        found.conversations[record["conversation"]] = len(found.rows)
    hops = record.get("hops")
    for over in hops if isinstance(hops, list) else ():
        if isinstance(over, Mapping) and isinstance(over.get("conversation"), str):
            found.left.add(over["conversation"])
    found.rows.append(made)


def _lives(identity: Mapping[str, Any]) -> bool:
    """Whether that very process is there: its pid may be somebody else's by now."""
    try:
        return look(int(identity["pid"]), float(identity["started"]), str(identity["boot_id"])) != "gone"
    except (KeyError, TypeError, ValueError, OverflowError):
        return False


def _job(row: Mapping[str, Any], now: float) -> dict[str, Any]:
    job_id = row.get("job_id")
    return {
        **_common(row, now),
        "id": f"job:{job_id}",
        "owner": "job",
        "kind": "job",
        "job_id": job_id,
        "name": row.get("label") or job_id,
        "name_source": "label" if row.get("label") else None,
        "evidence": row.get("note") or row.get("reason") or row.get("state"),
    }


def _session(row: Mapping[str, Any], now: float) -> dict[str, Any]:
    return {
        **_common(row, now),
        "id": f"session:{row.get('session_id')}",
        "owner": "session",
        "kind": "session",
        "session_id": row.get("session_id"),
        "name": row.get("name") or row.get("session_id"),
        "name_source": "label" if row.get("name") else None,
        "evidence": row.get("evidence") or row.get("reason") or row.get("state"),
    }


def _common(row: Mapping[str, Any], now: float) -> dict[str, Any]:
    state = of_own(row.get("state"))
    ended, began = row.get("ended"), row.get("started") or row.get("accepted_at")
    moment = ended if isinstance(ended, int | float) else began
    return {
        "tool": row.get("lane"),
        "model": row.get("model_observed") or row.get("model"),
        "state": state.value,
        "raw_state": row.get("state"),
        "age_s": round(max(0.0, now - moment), 1) if isinstance(moment, int | float) else None,
        "started": began if isinstance(began, int | float) else None,
        "cwd": row.get("worktree") if isinstance(row.get("worktree"), str) else row.get("cwd"),
        "branch": row.get("branch"),
        "alive": row.get("ended") is None,
    }


def _ended(row: Mapping[str, Any]) -> float:
    ended = row.get("ended")
    return float(ended) if isinstance(ended, int | float) else 0.0
