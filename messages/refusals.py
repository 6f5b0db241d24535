"""Expected trouble, said to a person: a code for programs, a sentence, and what to do next."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from .base import Message


class RefusalCode(StrEnum):
    """Stable codes. ``cli/exit_codes.py`` maps each to an exit code."""

    USAGE = "usage"
    BAD_REQUEST = "bad_request"
    BAD_TASK = "bad_task"
    CHECK_UNFIT = "check_unfit"
    UNKNOWN_LANE = "unknown_lane"
    UNKNOWN_MODEL = "unknown_model"
    LANE_CONFLICT = "lane_conflict"
    LANE_NOT_READY = "lane_not_ready"
    LANE_DOWN = "lane_down"
    QUOTA_FULL = "quota_full"
    BUDGET_SPENT = "budget_spent"
    NO_SUCH_LIMIT = "no_such_limit"
    NO_SUCH_ALARM = "no_such_alarm"
    VERB_UNSUPPORTED = "verb_unsupported"
    BAD_CWD = "bad_cwd"
    NO_WORKTREE = "no_worktree"
    UNSAVED_WORK = "unsaved_work"
    BAD_GRANT = "bad_grant"
    UNTRUSTED_FOLDER = "untrusted_folder"
    NO_SUCH_JOB = "no_such_job"
    AMBIGUOUS_JOB = "ambiguous_job"
    NO_SUCH_GROUP = "no_such_group"
    AMBIGUOUS_GROUP = "ambiguous_group"
    NO_SUCH_LOOP = "no_such_loop"
    AMBIGUOUS_LOOP = "ambiguous_loop"
    NO_SUCH_SESSION = "no_such_session"
    AMBIGUOUS_SESSION = "ambiguous_session"
    SESSION_NAME_IN_USE = "session_name_in_use"
    SESSION_ENDED = "session_ended"
    NOTHING_ASKED = "nothing_asked"
    NO_SESSIONS = "no_sessions"
    NOT_FINISHED = "not_finished"
    NO_RESULT = "no_result"
    RECURSION = "recursion"
    DENIED = "denied"
    CONSENT_NEEDED = "consent_needed"
    WOULD_LEAK = "would_leak"
    PROTECTED_PATH = "protected_path"
    TOO_MANY_LAUNCHES = "too_many_launches"
    LOW_RESOURCES = "low_resources"
    STATE_UNWRITABLE = "state_unwritable"
    STATE_FULL = "state_full"
    STATE_DAMAGED = "state_damaged"
    STATE_NEWER = "state_newer"
    BAD_CONFIG = "bad_config"
    SUPERVISOR_UNAVAILABLE = "supervisor_unavailable"
    SUPERVISOR_BUSY = "supervisor_busy"
    PROTOCOL = "protocol"
    STOPPING = "stopping"
    INTERNAL = "internal"


class Refused(Message):
    """Any part → whoever asked: it was not done, why, and the one command that helps."""

    kind: Literal["refused"] = "refused"
    code: RefusalCode
    message: str
    hint: str | None = None
