"""From a session to GitHub Copilot CLI's own interface. Pure. Seen on 1.0.102."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import NESTING, missing_program
from ..terminals import in_terminal
from .argv import BINARY, EFFORTS, INSTALL, OWN_SESSION, payer
from .servers import without_servers


def terminal(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    closed = without_servers(host)
    if isinstance(closed, Refused):
        return closed
    argv = [program, "--no-auto-update", *closed]
    if task.conversation is not None:
        argv.append(f"--resume={task.conversation}")
    elif task.fresh is not None:
        argv.append(f"--session-id={task.fresh}")
    effort = EFFORTS[task.effort] if task.effort is not None else None
    if effort is not None:
        argv += ["--reasoning-effort", effort]
    if task.model is not None:
        argv += ["--model", task.model]
    return in_terminal(
        "copilot",
        tuple(argv),
        env_strip=NESTING | OWN_SESSION,
        billing=payer(host),
        conversation=task.conversation or task.fresh,
        effort=effort,
    )
