"""What helps against each kind of trouble, where whoever met it had nothing better to say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_LOGS: Final = "osrc supervisor logs shows what happened"
_HOME: Final = "osrc doctor looks at the state home; OSRC_HOME=/path chooses another"
_JOBS: Final = "osrc status --all lists the jobs there are"
_GROUPS: Final = "osrc fanout list shows the groups there are"
_LOOPS: Final = "osrc loop list shows the loops there are"
_SESSIONS: Final = "osrc session list --all shows the sessions there are"
_CONFIG: Final = "osrc config path names the file, osrc config show --origin what holds and why"

HINTS: Final[Mapping[str, str]] = {
    "usage": "osrc help",
    "bad_request": "osrc help shows what can be asked; osrc COMMAND -h its words",
    "bad_task": "osrc run -h tells how a task is given, osrc fanout -h how many are",
    "check_unfit": "give a check that can tell the work from none (osrc loop verify -h)",
    "unknown_lane": "osrc lanes shows them",
    "unknown_model": "osrc models lists the words that name models",
    "lane_conflict": "osrc models tells the lane of each model; leave out --lane, or -m",
    "lane_not_ready": "osrc lanes says what each one needs",
    "lane_down": "osrc limits tells until when; another lane with --lane, or osrc limits clear LANE",
    "quota_full": "osrc limits tells when it is reset; osrc limits clear LANE MODEL takes it back",
    "budget_spent": "osrc limits budget shows what is bound and spent, and sets another bound",
    "no_such_limit": "osrc limits shows what there is",
    "no_such_alarm": "osrc heartbeat status lists those that are open",
    "verb_unsupported": "osrc lanes shows what each lane can do; choose one with --lane",
    "bad_cwd": "give a folder that exists with --cwd (osrc run -h)",
    "no_worktree": "leave --worktree out, or run it in a git repository (osrc edit -h)",
    "unsaved_work": "commit or merge it; osrc cleanup ID --force gives it up",
    "bad_grant": "osrc help lanes tells what --with takes",
    "untrusted_folder": "read that file; osrc lanes shows other lanes",
    "no_such_job": _JOBS,
    "ambiguous_job": f"give more of the id; {_JOBS}",
    "no_such_group": _GROUPS,
    "ambiguous_group": f"give more of the id; {_GROUPS}",
    "no_such_loop": _LOOPS,
    "ambiguous_loop": f"give more of the id; {_LOOPS}",
    "no_such_session": _SESSIONS,
    "ambiguous_session": f"give its name; {_SESSIONS}",
    "session_name_in_use": "choose another with --name; osrc session list shows those that are taken",
    "session_ended": "osrc session relaunch goes on in its conversation; osrc session list --all shows it",
    "nothing_asked": "osrc session read shows what it does",
    "no_sessions": "osrc session start begins one, where the lane has sessions (osrc lanes show LANE)",
    "not_finished": "wait for it (osrc wait ID), or end it (osrc cancel ID)",
    "no_result": "osrc explain ID says how it ended",
    "recursion": "do the work here; osrc config get max_depth tells how deep delegates may delegate",
    "denied": "osrc posture status shows what is allowed here, and why",
    "consent_needed": "osrc consent grant agrees once and for all; --lane local stays on this machine",
    "would_leak": "take the secret out of the text or the folder; --lane local stays on this machine (osrc lanes)",
    "protected_path": "work in another folder, or look only: osrc run",
    "too_many_launches": "wait, or allow more: osrc config set launches_per_hour N",
    "low_resources": "free some, or wait for jobs to end (osrc status)",
    "state_unwritable": _HOME,
    "state_full": f"free some space; {_HOME}",
    "state_damaged": f"osrc supervisor restart rebuilds what can be rebuilt; {_LOGS}",
    "state_newer": "upgrade outsourcerer; osrc doctor says which copies are here",
    "bad_config": _CONFIG,
    "supervisor_unavailable": "osrc supervisor status says whether it runs; --no-daemon works without it",
    "supervisor_busy": "try again; osrc supervisor status says how it is",
    "protocol": "osrc supervisor restart replaces it by this version",
    "stopping": "try again; osrc supervisor status says how it is",
    "internal": _LOGS,
    "not_found": "look at the path that was given; osrc help COMMAND tells what it takes",
    "not_installed": "osrc doctor says what is here and what is missing",
}
"""Code → what to do: every value of ``messages.refusals.RefusalCode``, and what the front end adds."""

SILENT: Final = frozenset({"stdout"})
"""Codes after which nothing can be said to anybody."""


def hint_of(code: str, exit_code: int) -> str | None:
    """Return what helps against trouble of that kind; None where a person broke it off, or nobody reads it."""
    if code in SILENT or exit_code in {130, 143}:
        return None
    return HINTS.get(code, HINTS["internal"])
