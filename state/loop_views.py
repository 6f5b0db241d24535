"""The public loop object of ``--json``, made from a loop's record. Plain dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..messages.vocabulary import SCHEMA_VERSION, repeats
from .loop_records import spent

_STEP = (
    "number",
    "role",
    "lap",
    "who",
    "round",
    "model",
    "job_id",
    "session_id",
    "session_state",
    "began",
    "ended",
    "state",
    "seconds",
    "code",
    "detail",
    "hint",
    "changed",
    "cash_usd",
    "plan",
    "plan_used",
    "score",
    "found",
    "agrees",
)
_NOW = ("role", "lap", "model", "job_id", "session_id", "began")
_LAPS = frozenset({"build", "find", "write"})
_FINE = frozenset({"passed", "done", "done?"})


def loop_object(loop: Mapping[str, Any], root: str, now: float) -> dict[str, Any]:
    """Return the loop object, always with the same keys. ``root`` is the state home.

    ``state`` is running, canceling, or the one way in which it has ended. ``elapsed_s`` counts what it was at work.
    Unknown is null; cash that is only in part measured is an estimate.
    """
    steps = [dict(step) for step in loop.get("steps") or ()]
    terms, limits = dict(loop.get("terms") or {}), dict(loop.get("limits") or {})
    loop_id = loop.get("loop_id")
    folder = f"{root}/loops/{loop_id}"
    shape = terms.get("shape")
    state = loop.get("end") or ("canceling" if loop.get("cancel_requested") else "running")
    return {
        "schema_version": SCHEMA_VERSION,
        "loop_id": loop_id,
        "label": loop.get("label"),
        "shape": shape,
        "state": state,
        "reason": None if repeats(state, loop.get("reason")) else loop.get("reason"),
        "hint": _named(loop.get("hint"), loop_id),
        "verb": loop.get("verb"),
        "lane": loop.get("lane"),
        "model": loop.get("model"),
        "models": list(terms.get("models") or ()),
        **_place(loop, steps),
        "check": terms.get("check"),
        "limits": {key: limits.get(key) for key in ("laps", "seconds", "usd", "plan_percent")},
        "laps": max((int(step.get("lap") or 0) for step in steps if step.get("role") in _LAPS), default=0),
        "elapsed_s": round(spent(loop, now), 3),
        "cost": _cost(steps),
        "now": _now(steps),
        "last_failure": _failure(steps),
        "best": _best(steps, folder),
        "findings": sum(int(step.get("found") or 0) for step in steps) if shape == "sweep" else None,
        "findings_path": f"{folder}/findings.txt" if shape == "sweep" else None,
        "plan_path": f"{folder}/plan.md" if shape == "council" else None,
        "unused_models": _unused(terms, steps),
        "judged_by_itself": _judged_by_itself(steps) if shape == "optimize" else None,
        "resumed": int(loop.get("segment") or 0),
        "accepted": loop.get("accepted_at"),
        "ended": loop.get("ended"),
        "folder": folder,
        "steps": [{key: step.get(key) for key in _STEP} for step in steps],
    }


def brief(loop: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Return what a list of what is alive says of a loop."""
    steps = [dict(step) for step in loop.get("steps") or ()]
    return {
        "loop_id": loop.get("loop_id"),
        "label": loop.get("label"),
        "shape": dict(loop.get("terms") or {}).get("shape"),
        "state": "canceling" if loop.get("cancel_requested") else "running",
        "elapsed_s": round(spent(loop, now), 3),
        "now": _now(steps),
    }


def _place(loop: Mapping[str, Any], steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Return where its work is."""
    placed = next((step for step in steps if step.get("worktree")), {})
    cwd = placed.get("cwd") or loop.get("cwd")
    return {"cwd": cwd, "worktree": placed.get("worktree"), "branch": placed.get("branch")}


def _named(hint: object, loop_id: object) -> str | None:
    return hint.replace("{loop}", str(loop_id)) if isinstance(hint, str) else None


def _cost(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what its jobs cost in cash, as far as known."""
    known = [step for step in steps if isinstance(step.get("cash_usd"), int | float)]
    return {
        "cash_usd": round(sum(step["cash_usd"] for step in known), 9) if known else None,
        "measured": all(step.get("measured") for step in known) if known else False,
        "unknown": sum(int(step.get("unknown") or 0) for step in steps),
    }


def _now(steps: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the step that runs, the newest of several; None where none does."""
    runs = next((step for step in reversed(steps) if step.get("ended") is None), None)
    return None if runs is None else {key: runs.get(key) for key in _NOW}


def _failure(steps: list[dict[str, Any]]) -> str | None:
    """Return the last thing that went wrong, unless the last check passed."""
    for step in reversed(steps):
        if step.get("ended") is None or step.get("role") == "compare":
            continue
        if step.get("state") not in _FINE:
            return str(step.get("detail") or step.get("state"))
        if step.get("role") == "check":
            return None
    return None


def _best(steps: list[dict[str, Any]], folder: str) -> dict[str, Any] | None:
    """Return the answer that a judge thought best; None where none was judged. A session's is a file of the loop's."""
    scored = [step for step in steps if isinstance(step.get("score"), int | float)]
    if not scored:
        return None
    top = max(scored, key=lambda step: (step["score"], -int(step.get("lap") or 0)))
    written = next((step for step in steps if step.get("role") == "write" and step.get("lap") == top.get("lap")), {})
    path = f"{folder}/answer-{written['number']}.md" if written.get("session_id") else None
    return {"lap": top.get("lap"), "score": top["score"], "job_id": written.get("job_id"), "path": path}


def _unused(terms: Mapping[str, Any], steps: list[dict[str, Any]]) -> list[str]:
    """Return the dearer rungs that never ran."""
    if terms.get("shape") != "escalate":
        return []
    models = list(terms.get("models") or ())
    reached = max((int(step.get("who") or 0) for step in steps if step.get("role") == "build"), default=-1)
    return [str(model) for model in models[reached + 1 :]]


def _judged_by_itself(steps: list[dict[str, Any]]) -> bool | None:
    """Return whether a score is the writer's own model's, by what was seen to answer; None: that is not known.

    A step that is over has the model that answered, where its lane tells one; else the word that was asked for.
    """
    wrote = {step.get("lap"): step.get("model") for step in steps if step.get("role") == "write"}
    judged = [step for step in steps if step.get("role") == "judge" and isinstance(step.get("score"), int | float)]
    pairs = [(wrote.get(step.get("lap")), step.get("model")) for step in judged]
    if any(one and one == other for one, other in pairs):
        return True
    return False if pairs and all(one and other for one, other in pairs) else None
