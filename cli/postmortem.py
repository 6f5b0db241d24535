"""What a job's record, its output and its folder mean for who reads them afterwards. One pure table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

Label = Literal["REUSE-OUTPUT", "RETRY-DIFFERENT-LANE", "REAL-FAIL"]

LIMITS: Final = frozenset({"plan-limit", "rate-limit"})
ELSEWHERE: Final = frozenset({"transport", "auth", "model-gone", "launch", "contended"})
"""Outcomes that are the lane's fault. In doubt it is the task's, and a task failure is never retried elsewhere."""

STALLED: Final = frozenset({"wedged", "timeout", "interrupted"})
"""States in which a job may have been ended although its work was done."""


def classify(  # noqa: PLR0911  one rule after the other
    job: Mapping[str, Any],
    *,
    ended: bool,
    has_result: bool | None,
    work: Literal["commits", "writes"] | None = None,
) -> tuple[Label, str]:
    """Return whether a job's output can be used or another lane should be tried, and why in one word.

    ``ended``: whether its state is terminal; ``has_result``: whether its final message is not blank, None
    when it can't be read; ``work``: what it provably left behind in its own run. Work is looked at before
    words of a limit: a job that did it and then ran into one has done it.
    """
    state, outcome = str(job.get("state")), str(job.get("outcome") or "")
    if not ended:
        return "REAL-FAIL", "job-not-terminal"
    if state in ("done", "done?"):
        if not has_result:
            return "REAL-FAIL", "unreadable-output" if has_result is None else "empty-output"
        return "REUSE-OUTPUT", "completed" if state == "done" else "completed-unverified"
    if outcome == "read-only-breach":
        return "REAL-FAIL", outcome
    if work is not None:
        return "REUSE-OUTPUT", f"false-stall:{work}"
    if state in STALLED and has_result:
        return "REUSE-OUTPUT", "false-stall:deliverable"
    if outcome in LIMITS:
        return "RETRY-DIFFERENT-LANE", _limit(job)
    if outcome in ELSEWHERE:
        return "RETRY-DIFFERENT-LANE", outcome
    if state == "permission-blocked":
        return "RETRY-DIFFERENT-LANE", "wedge:permission-blocked"
    return "REAL-FAIL", _failure(job, state, outcome)


def _limit(job: Mapping[str, Any]) -> str:
    """Return whose limit it was: that of a model that costs nothing, of a plan, or of somebody's credits."""
    if str(job.get("model") or "").endswith(":free"):
        return "free-model-quota-exhausted"
    kind = (job.get("cost") or {}).get("kind")
    return "quota-exhausted" if kind in ("plan", "free") else "credit-exhausted"


def _failure(job: Mapping[str, Any], state: str, outcome: str) -> str:
    if outcome == "empty-output" or state in ("interrupted", "canceled", "blocked"):
        return outcome if outcome == "empty-output" else state
    if state in ("wedged", "timeout"):
        return f"watchdog:{state}"
    code = (job.get("exit_status") or {}).get("code")
    return f"exit:{code}" if code not in (None, 0) else outcome or state
