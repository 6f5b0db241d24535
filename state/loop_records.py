"""A loop's record from its facts: pure, over plain JSON objects, so that the front end needs no more than that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Record = dict[str, Any]
"""A ``messages.loop.LoopRecord`` as its JSON object."""


def fold(facts: Iterable[tuple[float, Mapping[str, Any]]]) -> Record | None:
    """Return the record that facts, in their order and with their times in epoch seconds, make; None: there is none."""
    record: Record | None = None
    for at, fact in facts:
        record = after(record, fact, at)
    return record


def after(record: Record | None, fact: Mapping[str, Any], at: float) -> Record | None:  # noqa: PLR0911 - a line a kind
    """Return the record after one fact. The same object: nothing changed.

    A fact about a loop that is not there changes nothing, nor does one about an ended loop, but its resuming, nor one
    about a step that has ended.
    """
    kind = fact.get("kind")
    if kind == "loop.accepted":
        accepted = fact.get("record")
        return dict(accepted) if record is None and isinstance(accepted, dict) else record
    if record is None or (record.get("end") is None) == (kind == "loop.resumed"):
        return record
    match kind:
        case "loop.step_began" | "loop.step_ended":
            steps = record.get("steps") or ()
            changed = _with(steps, fact.get("step"), began=kind == "loop.step_began", instead_of=fact.get("instead_of"))
            return record if changed is None else {**record, "steps": changed}
        case "loop.cancel_requested":
            return {**record, "cancel_requested": True}
        case "loop.ended":
            said = {key: fact.get(key) for key in ("end", "reason", "hint")}
            return {**record, **said, "ended": at, "spent_s": spent(record, at)}
        case "loop.resumed":
            return {**record, **_RESUMED, **_resumed(record, fact, at)}
        case _:
            return record


_RESUMED: Mapping[str, object] = {
    "cancel_requested": False,
    "end": None,
    "reason": None,
    "hint": None,
    "ended": None,
}


def _resumed(record: Record, fact: Mapping[str, Any], at: float) -> dict[str, Any]:
    return {
        "limits": fact.get("limits"),
        "launched": bool(record.get("launched") or fact.get("launched")),
        "owner": fact.get("owner"),
        "segment": int(record.get("segment") or 0) + 1,
        "segment_began": at,
    }


def spent(record: Mapping[str, Any], now: float) -> float:
    """Return how many seconds a loop has been at work by ``now``; a clock that was set back takes none away."""
    before = float(record.get("spent_s") or 0.0)
    begun = record.get("segment_began")
    if record.get("end") is not None or not isinstance(begun, int | float):
        return before
    return before + max(0.0, now - begun)


def _with(steps: Iterable[Any], step: Any, *, began: bool, instead_of: object) -> list[Any] | None:  # noqa: ANN401 - a JSON value
    """Return the steps with one more, or with that one in its place; None: it is none, or has ended already.

    One that has begun begins no second time, as another job, unless that job is named that it is ``instead_of``.
    """
    found = list(steps)
    if not isinstance(step, dict):
        return None
    for place in range(len(found) - 1, -1, -1):
        if found[place].get("number") == step.get("number"):
            over = found[place].get("ended") is not None
            named = instead_of is not None and instead_of in {found[place].get(key) for key in ("job_id", "session_id")}
            return None if over or (began and not named) else [*found[:place], step, *found[place + 1 :]]
    return [*found, step]
