"""From a session to ``droid exec --output-format acp``. Pure. Seen on 0.215.0."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import NESTING, missing_program
from ..vehicles.acp.session import over_acp
from .argv import BINARY, INSTALL, OWN_SESSION


def over(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session. ``-m`` is ignored there: the model is chosen over the protocol."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    return over_acp(task, (program, "exec", "--output-format", "acp"), env_strip=NESTING | OWN_SESSION)
