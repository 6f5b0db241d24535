"""What a job's record means for who reads it afterwards. One pure table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

Label = Literal["REUSE-OUTPUT", "RETRY-DIFFERENT-LANE", "REAL-FAIL"]

ELSEWHERE: Final = frozenset({"transport", "plan-limit", "rate-limit", "auth", "model-gone", "launch"})
"""Outcomes that are the lane's fault. In doubt it is the task's, and a task failure is never retried elsewhere."""


def classify(job: Mapping[str, Any], *, ended: bool, has_result: bool | None) -> tuple[Label, str]:
    """Return whether a job's output can be used or another lane should be tried, and why in one word.

    ``ended``: whether its state is terminal; ``has_result``: whether its final message is not blank, None
    when it can't be read.
    """
    state, outcome = str(job.get("state")), str(job.get("outcome") or "")
    if not ended:
        return "REAL-FAIL", "job-not-terminal"
    if state in ("done", "done?"):
        if not has_result:
            return "REAL-FAIL", "unreadable-output" if has_result is None else "empty-output"
        return "REUSE-OUTPUT", "completed" if state == "done" else "completed-unverified"
    if outcome in ELSEWHERE:
        return "RETRY-DIFFERENT-LANE", outcome
    if state == "permission-blocked":
        return "RETRY-DIFFERENT-LANE", "permission-blocked"
    return "REAL-FAIL", outcome or state
