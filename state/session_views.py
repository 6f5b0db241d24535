"""The public session object of ``--json``, made from a record. Plain dicts: no pydantic on a looking command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..messages.vocabulary import SCHEMA_VERSION, SessionState, repeats

Look = Callable[[int, float, str], str]
"""``identity.look``."""

_COPIED = (
    "session_id", "name", "label", "lane", "vehicle", "transport", "model", "model_observed", "model_pin", "effort",
    "mode", "cwd", "captain", "state", "evidence", "started", "ended", "conversation", "turns", "given", "attempt",
    "continues", "reason", "exit_code", "note",
)  # fmt: skip
_ENDED = frozenset(state.value for state in SessionState if state.ended)


def session_object(record: Mapping[str, Any], home_root: str, now: float) -> dict[str, Any]:
    """Return the session object, always with the same keys. Unknown is null."""
    session_id = record.get("session_id")
    ended = record.get("ended")
    accepted = record.get("accepted_at")
    age = (ended if isinstance(ended, int | float) else now) - accepted if isinstance(accepted, int | float) else None
    return {
        "schema_version": SCHEMA_VERSION,
        **{name: record.get(name) for name in _COPIED},
        "reason": None if repeats(record.get("state"), record.get("reason")) else record.get("reason"),
        "age_s": None if age is None else round(max(0.0, age), 1),
        "events_path": f"{home_root}/sessions/{session_id}/events.jsonl",
    }


def is_live(record: Mapping[str, Any]) -> bool:
    """Whether it has not ended."""
    return record.get("state") not in _ENDED


def derive(record: Mapping[str, Any], look: Look) -> dict[str, Any]:
    """Return the record as it may be told while no supervisor runs: without its holder it is lost."""
    told = dict(record)
    holder = record.get("holder")
    if is_live(record) and isinstance(holder, dict):
        try:
            there = look(int(holder["pid"]), float(holder["started"]), str(holder["boot_id"])) in ("running", "stopped")
        except (KeyError, TypeError, ValueError):
            return told
        if not there:
            told |= {"state": SessionState.LOST.value, "evidence": None}
            told["reason"] = "its holder died" if not record.get("ending") else record["ending"]
    return told
