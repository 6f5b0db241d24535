"""From a session to Cline's own interface. Pure. Seen on 3.0.65."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import effort_word, missing_program
from ..terminals import in_terminal
from .argv import BINARY, INSTALL, STRIP, THINKING

ENVIRONMENT = {
    "CLINE_SESSION_BACKEND_MODE": "local",
    "CLINE_NO_AUTO_UPDATE": "1",
    "CLINE_DISABLE_CLINE_PASS_NOTICE": "1",
}


def terminal(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session. It asks before it changes anything; no advertisement comes first."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    argv = [program, "--tui", "--auto-approve", "false"]
    if task.conversation is not None:
        argv += ["--id", task.conversation]
    if task.model is not None:
        argv += ["-m", task.model]
    effort, said = effort_word("Cline", task.effort, THINKING)
    if effort is not None:
        argv += ["--thinking", effort]
    return in_terminal("cline", tuple(argv), env_set=ENVIRONMENT, env_strip=STRIP, notices=said, effort=effort)
