"""From a session to Gemini CLI's own interface. Pure. Seen on 0.61.0; ``agy``'s screens are not known."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import missing_program
from ..terminals import in_terminal
from .argv import INSTALL, who_pays
from .models import Vehicle, choose


def terminal(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session."""
    program = host.executables.get(Vehicle.GEMINI)
    if program is None:
        return missing_program(Vehicle.GEMINI, INSTALL[Vehicle.GEMINI])
    chosen = choose(task.model, task.effort, Vehicle.GEMINI, host.environment)
    env_set = {}
    if (key := host.secrets.get("GEMINI_API_KEY")) and not host.environment.get("GEMINI_API_KEY"):
        env_set["GEMINI_API_KEY"] = key
    billing, notices = who_pays({**host.environment, **env_set})
    argv = [program, "--approval-mode", "default"]
    if task.conversation is not None:
        argv += ["-r", task.conversation]
    if chosen.model is not None:
        argv += ["-m", chosen.model]
    said = (*chosen.notices, *notices)
    return in_terminal("gemini", tuple(argv), env_set=env_set, notices=said, billing=billing, model=chosen.model)
