"""Going on as a job with the conversation of an earlier job or session: what is taken over, and what is refused."""

from __future__ import annotations

import re

from ..lanes.contract import Lane
from ..lanes.registry import Registry
from ..messages.job import JobRecord, JobRequest
from ..messages.refusals import RefusalCode, Refused
from ..messages.session import SessionRecord
from ..messages.vocabulary import JobState, Verb
from ..state.home import Home
from ..state.reader import Reader

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")
"""What goes into a command line as a conversation's id: it never looks like an option."""


def earlier(request: JobRequest, home: Home) -> JobRecord | SessionRecord | Refused | None:
    """Return the ended job or session whose conversation is to be continued, or None where none is asked for.

    The journal says what it was. Its folder's copy could have been rewritten by a delegate, to be given more.
    """
    if request.continues is None:
        return None
    with Reader(home.database) as reader:
        found = reader.record(request.continues)
        session = reader.session(request.continues) if found is None else None
    if session is not None:
        return _of_session(SessionRecord.model_validate(session))
    record = JobRecord.model_validate(found) if found is not None else None
    if record is None:
        return _refused(RefusalCode.NO_SUCH_JOB, f"there is no job {request.continues} to continue", "osrc status")
    if not _ended(record):
        hint = f"osrc wait {record.job_id}, or osrc cancel {record.job_id}"
        return _refused(RefusalCode.NOT_FINISHED, f"{record.job_id} has not ended", hint)
    if record.conversation is None or _ID.fullmatch(record.conversation) is None:
        message = f"{record.job_id} can't be continued: the {record.lane} lane named no conversation"
        return _refused(RefusalCode.NO_RESULT, message, "ask anew, and tell it what it needs to know")
    return record


def _of_session(record: SessionRecord) -> SessionRecord | Refused:
    if not record.state.ended:
        hint = f'osrc session send {record.name} "..."'
        return _refused(
            RefusalCode.NOT_FINISHED, f"the session {record.name} runs: its conversation goes on in it", hint
        )
    if record.conversation is None or _ID.fullmatch(record.conversation) is None:
        message = f"the session {record.name} can't be continued: the {record.lane} lane named no conversation"
        return _refused(RefusalCode.NO_RESULT, message, f"osrc session relaunch {record.session_id} starts it anew")
    return record


def taken_over(request: JobRequest, record: JobRecord | SessionRecord) -> JobRequest | Refused:
    """Return the request on the earlier one's terms: its lane, folder and verb; model and effort may be others.

    The verb stays, so that going on never gives a conversation more than it was given. A session asked before it
    changed anything; a job can't ask, so that it only reads.
    """
    known = record.job_id if isinstance(record, JobRecord) else record.session_id
    if request.lane is not None and request.lane != record.lane:
        message = f"{known} ran on {record.lane}: its conversation can't go on on {request.lane}"
        return _refused(RefusalCode.LANE_CONFLICT, message, f"leave --lane out, or: osrc run --lane {request.lane} ...")
    terms = {
        "lane": record.lane,
        "verb": record.verb if isinstance(record, JobRecord) else Verb.RUN,
        "cwd": record.cwd,
        "model": request.model or record.model,
        "effort": request.effort or record.effort,
        "tier": request.tier or (record.tier if isinstance(record, JobRecord) else None),
    }
    return request.model_copy(update=terms)


def check_lane(lane: Lane, registry: Registry, before: JobRecord | SessionRecord | None = None) -> Refused | None:
    """Refuse a lane that can't take up a conversation by its id in a job; a session's own way is another."""
    if lane.resume:
        return None
    able = [name for name in registry.names() if isinstance(found := registry.get(name), Lane) and found.resume]
    return _refused(
        RefusalCode.VERB_UNSUPPORTED,
        f"the {lane.name} lane can't continue a conversation: {lane.no_resume}",
        f"osrc session relaunch {before.session_id}, and send to it"
        if isinstance(before, SessionRecord)
        else f"ask anew; lanes that can: {', '.join(able)}",
    )


def _ended(record: JobRecord) -> bool:
    return record.ended is not None or record.state in (JobState.DONE, JobState.DONE_UNVERIFIED)


def _refused(code: RefusalCode, message: str, hint: str) -> Refused:
    return Refused(code=code, message=message, hint=hint)
