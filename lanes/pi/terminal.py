"""From a session to pi's own interface. Pure. Seen on 0.73.1."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import NESTING, effort_word, missing_program
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
    effort, said = effort_word("pi", task.effort, THINKING)
    if effort is not None:
        argv += ["--thinking", effort]
    notices = (ASKS_NOBODY, *said)
    return in_terminal("pi", tuple(argv), env_strip=NESTING | OWN_SESSION, notices=notices, effort=effort)
