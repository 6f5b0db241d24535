"""From a session to Claude Code's own interface. Pure. Seen on 2.1.332."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import effort_word, missing_program
from ..terminals import in_terminal
from ..vehicles.claude_code.argv import BINARY, EFFORTS, INSTALL, NO_SERVERS, instructions
from .argv import OWN_SETTINGS, payer


def terminal(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session. ``manual``: in its own default a model decides what may run."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    argv = [program, "--permission-mode", "manual"]
    if task.conversation is not None:
        argv += ["--resume", task.conversation]
    if task.model is not None:
        argv += ["--model", task.model]
    effort, said = effort_word("Claude Code", task.effort, EFFORTS)
    if effort is not None:
        argv += ["--effort", effort]
    if host.environment.get("OSRC_CLAUDE_USER_CONFIG") != "1":
        argv += ["--strict-mcp-config", "--mcp-config", NO_SERVERS]
    env_set: dict[str, str] = {}
    if not host.trust_folder:
        read, env_set = instructions(task.cwd, host)
        argv += [OWN_SETTINGS, *read]
    by_key = bool(host.environment.get("ANTHROPIC_API_KEY"))
    notices = ("ANTHROPIC_API_KEY is set: the session is metered on that key, not on a Claude plan.",) if by_key else ()
    return in_terminal(
        "claude", tuple(argv), env_set=env_set, notices=(*said, *notices), billing=payer(host), effort=effort
    )
