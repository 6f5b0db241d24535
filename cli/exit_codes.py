"""Every exit code, in one table. ``osrc help exit-codes`` prints it.

Standard library only: this module is on the hot path, so refusal codes are the strings of
``messages.refusals.RefusalCode`` (a test holds the two together).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

DONE: Final = 0
REFUSED: Final = 1
UNVERIFIED: Final = 2
BLOCKED: Final = 3
NAME_IN_USE: Final = 4
USAGE: Final = 64
TIMEOUT: Final = 124
WEDGED: Final = 125
HANGUP: Final = 129
INTERRUPTED: Final = 130
TERMINATED: Final = 143

MEANINGS: Final[Mapping[int, str]] = {
    DONE: "done",
    REFUSED: "refused or failed",
    UNVERIFIED: "done but unverified (done?)",
    BLOCKED: "blocked or permission-blocked",
    NAME_IN_USE: "session name in use",
    USAGE: "usage: bad words on the command line",
    TIMEOUT: "hard timeout, or a bounded wait ran out",
    WEDGED: "wedged: ended by the watchdog",
    HANGUP: "the terminal was lost; the job goes on",
    INTERRUPTED: "interrupted (Ctrl-C)",
    TERMINATED: "interrupted (TERM)",
}
"""Exit code → what it means."""

REFUSALS: Final[Mapping[str, int]] = {
    "usage": USAGE,
    "bad_request": USAGE,
    "bad_task": REFUSED,
    "check_unfit": BLOCKED,
    "unknown_lane": REFUSED,
    "unknown_model": REFUSED,
    "lane_conflict": REFUSED,
    "lane_not_ready": REFUSED,
    "lane_down": REFUSED,
    "quota_full": REFUSED,
    "budget_spent": REFUSED,
    "no_such_limit": REFUSED,
    "no_such_alarm": REFUSED,
    "verb_unsupported": REFUSED,
    "bad_cwd": REFUSED,
    "no_worktree": REFUSED,
    "unsaved_work": REFUSED,
    "bad_grant": REFUSED,
    "untrusted_folder": REFUSED,
    "no_such_job": REFUSED,
    "ambiguous_job": REFUSED,
    "no_such_group": REFUSED,
    "ambiguous_group": REFUSED,
    "no_such_loop": REFUSED,
    "ambiguous_loop": REFUSED,
    "no_such_session": REFUSED,
    "ambiguous_session": REFUSED,
    "session_name_in_use": NAME_IN_USE,
    "session_ended": REFUSED,
    "nothing_asked": REFUSED,
    "no_sessions": REFUSED,
    "not_finished": REFUSED,
    "no_result": REFUSED,
    "recursion": REFUSED,
    "denied": REFUSED,
    "consent_needed": REFUSED,
    "would_leak": REFUSED,
    "protected_path": REFUSED,
    "too_many_launches": REFUSED,
    "low_resources": REFUSED,
    "state_unwritable": REFUSED,
    "state_full": REFUSED,
    "state_damaged": REFUSED,
    "state_newer": REFUSED,
    "bad_config": REFUSED,
    "supervisor_unavailable": REFUSED,
    "supervisor_busy": REFUSED,
    "protocol": REFUSED,
    "stopping": REFUSED,
    "internal": REFUSED,
}
"""Refusal code → exit code. A code that a newer supervisor invents is 1."""

STATES: Final[Mapping[str, int]] = {
    "done": DONE,
    "done?": UNVERIFIED,
    "blocked": BLOCKED,
    "permission-blocked": BLOCKED,
    "timeout": TIMEOUT,
    "wedged": WEDGED,
    "failed": REFUSED,
    "canceled": INTERRUPTED,
    "interrupted": INTERRUPTED,
}
"""Terminal job state → exit code, where the job's own record does not say."""

_GRAVEST: Final = (REFUSED, WEDGED, TIMEOUT, INTERRUPTED, TERMINATED, BLOCKED, UNVERIFIED)


def of_refusal(code: str) -> int:
    """Return the exit code of a refusal."""
    return REFUSALS.get(code, REFUSED)


def of_job(job: Mapping[str, Any]) -> int:
    """Return the exit code of a job object that has ended; a live one counts as a wait that ran out."""
    state = str(job.get("state"))
    if state not in STATES:
        return TIMEOUT
    recorded = job.get("exit")
    if isinstance(recorded, int) and not isinstance(recorded, bool) and recorded in MEANINGS:
        return recorded
    return STATES[state]


def gravest(codes: Iterable[int]) -> int:
    """Return the one exit code that stands for several jobs: a failure outranks a doubt, a doubt success."""
    seen = set(codes)
    return next((code for code in _GRAVEST if code in seen), DONE)
