"""From a session to ``copilot --acp``. Pure. Seen on 1.0.102."""

from __future__ import annotations

from dataclasses import replace

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import NESTING, missing_program
from ..vehicles.acp.session import over_acp
from .argv import BINARY, INSTALL, OWN_SESSION
from .servers import without_servers


def over(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    closed = without_servers(host)
    if isinstance(closed, Refused):
        return closed
    argv = [program, "--acp", "--no-auto-update", *closed]
    if task.model is not None:
        argv += ["--model", task.model]
    return over_acp(replace(task, model=None), tuple(argv), env_strip=NESTING | OWN_SESSION)
