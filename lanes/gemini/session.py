"""From a session to ``gemini --acp``. Pure. Seen on 0.61.0; ``agy`` has no such protocol that is known."""

from __future__ import annotations

from dataclasses import replace

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import missing_program
from ..vehicles.acp.session import over_acp
from .argv import INSTALL, own_environment
from .models import Vehicle, choose


def over(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session."""
    program = host.executables.get(Vehicle.GEMINI)
    if program is None:
        return missing_program(Vehicle.GEMINI, INSTALL[Vehicle.GEMINI])
    chosen = choose(task.model, task.effort, Vehicle.GEMINI, host.environment)
    env_set, billing, notices = own_environment(host)
    launch = over_acp(
        SessionTask(cwd=task.cwd, model=chosen.model, conversation=task.conversation),
        (program, "--acp"),
        env_set=env_set,
        notices=(*chosen.notices, *notices),
        billing=billing,
    )
    # It names a conversation's file by the minute and its id, and begins a file before it looks for one to load
    # (seen): within the minute in which the conversation began, that is the same file, and all of it is lost.
    return replace(launch, next_minute=True, model=chosen.model, effort=None)
