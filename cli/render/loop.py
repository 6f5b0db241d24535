"""Loops for people: a table of them, one in full, and a line at each step while one is waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..output import say
from .lines import age, clock
from .plain import one_line
from .table import columns

_FINE = frozenset({"passed", "done", "done?"})


def loop_table(loops: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of ``loop list``."""
    rows = [("LOOP", "SHAPE", "STATE", "LAPS", "TIME", "LABEL", "LAST")]
    rows += [
        (
            str(one["loop_id"]),
            str(one["shape"]),
            str(one["state"]),
            str(one["laps"]),
            age(one["elapsed_s"]),
            one_line(str(one["label"] or "-"), 24),
            one_line(str(one["reason"] or one["last_failure"] or "-"), 60),
        )
        for one in loops
    ]
    return columns(rows)


def loop_lines(loop: Mapping[str, Any]) -> list[str]:
    """Return a loop in full."""
    lines = [head(loop)]
    lines += [f"check: {one_line(str(loop['check']), 200)}"] if loop["check"] else []
    lines += [f"worktree: {one_line(str(loop['worktree']), 300)} on {loop['branch']}"] if loop["worktree"] else []
    lines += [f"  {step_line(step)}" for step in loop["steps"]]
    lines += conclusion(loop)
    return lines


def head(loop: Mapping[str, Any]) -> str:
    """Return who it is, and how far it is."""
    limits = loop["limits"]
    bounds = [f"{loop['laps']} of {limits['laps']} laps", clock(float(loop["elapsed_s"]))]
    bounds[1] += f" of {clock(float(limits['seconds']))}" if limits["seconds"] else ""
    bounds += [f"{money(loop['cost'])}" + (f" of ${limits['usd']:g}" if limits["usd"] else "")]
    used = [step["plan_used"] for step in loop["steps"] if step["plan_used"] is not None]
    bounds += [f"{used[-1]:.0%} of the plan used"] if used else []
    return f"{loop['loop_id']}  {loop['shape']}  {loop['state']}  {', '.join(bounds)}"


def money(cost: Mapping[str, Any]) -> str:
    """Return cash in words: what is not known is never called nothing."""
    cash, unknown = cost["cash_usd"], cost["unknown"]
    known = "no cash" if cash is None else f"{'' if cost['measured'] else '~'}${cash:.4f}"
    return f"{known}, {unknown} of unknown cost" if unknown else known


def step_line(step: Mapping[str, Any]) -> str:
    """Return one step: ``lap 2 check: failed (exit 1: 2 failed)``."""
    where = _where(step)
    model = f" by {one_line(str(step['model']), 40)}" if step["model"] else ""
    if step["ended"] is None:
        return f"{where} {step['role']}{model}: {_runs(step)}"
    said = f": {one_line(str(step['detail']), 160)}" if step["detail"] and step["state"] not in _FINE else ""
    extra = [f"score {step['score']:g}"] if step["score"] is not None else []
    extra += [f"{step['found']} new"] if step["found"] is not None else []
    extra += ["as planned" if step["agrees"] else "not as planned"] if step["agrees"] is not None else []
    extra += [f"CHANGED THE CHECK: {one_line(', '.join(step['changed'][:5]), 120)}"] if step["changed"] else []
    extra += [str(step["job_id"] or step["session_id"])] if step["job_id"] or step["session_id"] else []
    told = f" ({', '.join(extra)})" if extra else ""
    return f"{where} {step['role']}{model}: {step['state']}{said}{told}"


def _runs(step: Mapping[str, Any]) -> str:
    """Return how a step that runs is watched, and what a session waits for."""
    session = step["session_id"]
    if session is None:
        return f"runs (osrc watch {step['job_id']})" if step["job_id"] else "runs"
    state = step.get("session_state")
    if state == "waiting-approval":
        return f"asks you something (osrc session answer {session})"
    if state in ("trust", "login", "menu", "limit", "unknown"):
        return f"waits: its session is in state {state} (osrc session read {session})"
    return f"runs (osrc session read {session} -f)"


def _where(step: Mapping[str, Any]) -> str:
    if step["lap"]:
        return f"lap {step['lap']}"
    if step["role"] == "answer":
        return "asked:"
    return f"round {step['round']}" if step["round"] else "before" if step["role"] == "check" else "then"


def conclusion(loop: Mapping[str, Any]) -> list[str]:
    """Return what is said of a loop at its end, and what can be done now."""
    lines = [f"LAST FAILURE: {one_line(str(loop['last_failure']), 300)}"] if loop["last_failure"] else []
    lines += [f"{loop['state']}: {one_line(str(loop['reason']), 400)}"] if loop["reason"] else []
    best = loop["best"]
    if best and (best["job_id"] or best["path"]):
        where = best["path"] or f"osrc result {best['job_id']}"
        lines.append(f"best answer: lap {best['lap']}, score {best['score']:g}: {where}")
    if loop.get("judged_by_itself"):
        lines.append("judged by itself: the model that wrote gave the score, too; --judge or -m names another one")
    lines += [f"findings: {loop['findings_path']}"] if loop["findings"] else []
    if loop["plan_path"] and loop["ended"] is not None:
        lines.append(f"plan: {loop['plan_path']}")
    if loop["unused_models"] and loop["ended"] is not None:
        lines.append(f"never needed: {one_line(', '.join(loop['unused_models']), 100)}")
    lines += [f"try: {one_line(str(loop['hint']), 300)}"] if loop["hint"] else []
    return lines


class LoopDisplay:
    """A line on stderr at each step of a loop."""

    def __init__(self, *, quiet: bool) -> None:
        """Begin with nothing said."""
        self._quiet = quiet
        self._seen: dict[int, tuple[object, ...]] = {}

    def begin(self, loop: Mapping[str, Any]) -> None:
        """Take what there is already as said."""
        self._seen |= {step["number"]: self._key(step) for step in loop["steps"]}

    def show(self, loop: Mapping[str, Any]) -> None:
        """Say what is new."""
        if self._quiet:
            return
        for step in loop["steps"]:
            key = self._key(step)
            if self._seen.get(step["number"]) != key:
                self._seen[step["number"]] = key
                say(step_line(step))

    @staticmethod
    def _key(step: Mapping[str, Any]) -> tuple[object, ...]:
        waits = step["ended"] is None and not _runs(step).startswith("runs")
        return step["ended"] is None, step["state"], waits
