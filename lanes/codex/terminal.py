"""From a session to Codex's own interface. Pure. Seen on 0.171.0."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import missing_program
from ..terminals import in_terminal
from ..vehicles.codex_cli.argv import BINARY, INSTALL, effort_word
from .argv import payer


def terminal(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session, without the daemon that would outlive it."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    notices: list[str] = []
    effort: str | None = None
    argv = [program, *(("resume", task.conversation) if task.conversation is not None else ()), "--no-daemon"]
    if task.model is not None:
        argv += ["-m", task.model]
    if task.effort is not None:
        effort, notices = effort_word(task.effort, task.model)
        argv += ["-c", f'model_reasoning_effort="{effort}"']
    by_key = bool(host.environment.get("CODEX_API_KEY"))
    if by_key:
        notices.append("CODEX_API_KEY is set: the session is metered on that key, not on a ChatGPT plan.")
    return in_terminal("codex", tuple(argv), notices=tuple(notices), billing=payer(host), effort=effort)
