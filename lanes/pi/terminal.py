"""From a session to pi's own interface. Pure. Seen on 0.73.1."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import NESTING, missing_program
from ..terminals import in_terminal
from .argv import BINARY, INSTALL, OWN_SESSION, THINKING
from .session import ASKS_NOBODY


def terminal(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    argv = [program]
    if task.conversation is not None:
        argv += ["--session", task.conversation]
    if task.model is not None:
        argv += ["--model", task.model]
    if task.effort is not None:
        argv += ["--thinking", THINKING[task.effort]]
    return in_terminal("pi", tuple(argv), env_strip=NESTING | OWN_SESSION, notices=(ASKS_NOBODY,))
