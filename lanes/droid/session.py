"""From a session to ``droid exec --output-format acp``. Pure. Seen on 0.215.0."""

from __future__ import annotations

from dataclasses import replace

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import NESTING, missing_program
from ..vehicles.acp.session import over_acp
from .argv import BINARY, INSTALL, OWN_SESSION
from .servers import settings


def over(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session.

    ``-m`` only lets it start with a model of one's own and no sign-in: the model is chosen over the protocol.
    """
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    argv = [program, "exec", "--output-format", "acp"]
    if task.model is not None:
        argv += ["-m", task.model]
    env_set, files = settings(host)
    return replace(over_acp(task, tuple(argv), env_set=env_set, env_strip=NESTING | OWN_SESSION), files=files)
