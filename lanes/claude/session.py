"""From a session to a ``claude -p`` that listens: its stream-json control protocol. Pure. Seen on 2.1.332."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import NESTING, effort_word, missing_program
from ..vehicles.claude_code.argv import BINARY, EFFORTS, INSTALL, NO_SERVERS, instructions
from ..vehicles.claude_code.session import native_argv
from .argv import OWN_SETTINGS, payer


def native(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session on the person's own sign-in."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    by_key = bool(host.environment.get("ANTHROPIC_API_KEY"))
    effort, said = effort_word("Claude Code", task.effort, EFFORTS)
    notices = [*said]
    if by_key:
        notices.append("ANTHROPIC_API_KEY is set: the session is metered on that key, not on a Claude plan.")
    argv = [program, *native_argv(task)]
    env_set: dict[str, str] = {}
    if not host.trust_folder:
        read, env_set = instructions(task.cwd, host)
        argv += [OWN_SETTINGS, *read]
    if host.environment.get("OSRC_CLAUDE_USER_CONFIG") != "1":
        argv += ["--strict-mcp-config", "--mcp-config", NO_SERVERS]
    return SessionLaunch(
        argv=tuple(argv),
        engine="claude",
        options={"model": task.model},
        env_set=env_set,
        env_strip=NESTING,
        notices=tuple(notices),
        billing=payer(host),
        effort=effort,
    )
