"""Whether a session may be started anew with another effort, in the same conversation. Pure."""

from __future__ import annotations

from ..lanes.contract import Host, Lane, SessionLaunch, SessionTask
from ..messages.refusals import RefusalCode, Refused
from ..messages.session import SessionRecord
from ..messages.vocabulary import Effort, SessionState


def why_not_anew(record: SessionRecord, lane: Lane, effort: Effort) -> Refused | None:
    """Return why a session that runs is not ended for that, or None where it may be."""
    again = f"--effort {effort}"
    if not has_effort(lane, record.transport, effort):
        message = f"{lane.vehicle} takes no effort in a {record.transport} session"
        return Refused(code=RefusalCode.NO_SESSIONS, message=message, hint=f"osrc lanes show {lane.name}")
    if record.state is not SessionState.IDLE:
        message = f"not while {record.name} is {record.state.value}: it would have to be started anew"
        return Refused(code=RefusalCode.NOT_FINISHED, message=message, hint="try again when it is idle")
    if record.conversation is None:
        message = f"{record.name} can't be started anew in its conversation: {lane.vehicle} has not named one"
        hint = f"osrc session stop {record.name}, and start one with {again}"
        return Refused(code=RefusalCode.NO_RESULT, message=message, hint=hint)
    return None


def has_effort(lane: Lane, transport: str, effort: Effort) -> bool:
    """Whether an effort changes how this lane starts such a session."""
    plan = lane.sessions.get("pty" if transport == "tmux" else transport)
    if plan is None:
        return False
    programs = {name: name for name in (lane.binary, *lane.executables) if name}
    host = Host(environment={}, executables=programs)
    with_it, without = (plan(SessionTask(cwd="/", effort=word), host) for word in (effort, None))
    if not isinstance(with_it, SessionLaunch) or not isinstance(without, SessionLaunch):
        return False
    return (with_it.argv, with_it.env_set, with_it.options) != (without.argv, without.env_set, without.options)
