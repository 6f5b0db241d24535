"""Going on in a session with an earlier conversation: a job's that has ended, or another session's."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..messages.refusals import RefusalCode, Refused
from ..messages.session import SessionRequest
from ..messages.vocabulary import Effort
from ..state.home import Home
from ..state.job_folder import JobFolder
from ..state.session_folder import HOLDER, SessionFolder

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")
"""As in ``continuing.py``: it may stand in a command line."""


@dataclass(frozen=True, slots=True)
class Before:
    """What is taken over."""

    lane: str
    cwd: str
    model: str | None
    effort: Effort | None
    conversation: str
    began: float | None
    """Epoch seconds when it was last begun or taken up; None is unknown."""


def before(request: SessionRequest, home: Home) -> Before | Refused | None:  # noqa: PLR0911 - one refusal after the other
    """Return what the request goes on with, or None where nothing is named."""
    if request.continues is None:
        return None
    job = JobFolder(home.job_dir(request.continues)).read_meta()
    record = job or SessionFolder(home.session_dir(request.continues)).read_meta()
    if record is None:
        return _refused(RefusalCode.NO_SUCH_JOB, f"there is no job or session {request.continues}", "osrc status")
    if job is not None and not job.state.terminal and job.ended is None:
        hint = f"osrc wait {job.job_id}, or osrc cancel {job.job_id}"
        return _refused(RefusalCode.NOT_FINISHED, f"{job.job_id} has not ended", hint)
    if job is None and not record.state.ended:  # type: ignore[union-attr]  # then it is a session's
        return _refused(RefusalCode.NOT_FINISHED, "that session runs: send to it", "osrc session list")
    if record.conversation is None or _ID.fullmatch(record.conversation) is None:
        message = f"{request.continues} can't be continued: the {record.lane} lane named no conversation"
        return _refused(RefusalCode.NO_RESULT, message, "start a session anew, and tell it what it needs to know")
    if request.lane is not None and request.lane != record.lane:
        message = f"{request.continues} ran on {record.lane}: its conversation can't go on on {request.lane}"
        return _refused(RefusalCode.LANE_CONFLICT, message, "leave --lane out")
    at = SessionFolder(home.session_dir(request.continues)).read_json(HOLDER) or {} if job is None else {}
    began = at.get("at") if isinstance(at.get("at"), float) else record.started
    return Before(record.lane, record.cwd, record.model, record.effort, record.conversation, began)


def _refused(code: RefusalCode, message: str, hint: str) -> Refused:
    return Refused(code=code, message=message, hint=hint)
