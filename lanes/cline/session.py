"""From a session to ``cline --acp``. Pure. Seen on 3.0.65."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import missing_program
from ..vehicles.acp.session import over_acp
from .argv import BINARY, INSTALL, STRIP


def over(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session. ``local`` keeps it from leaving its hub behind."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    env_set = {"CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1"}
    return over_acp(task, (program, "--acp"), env_set=env_set, env_strip=STRIP)
