"""From a session to Droid's own interface. Pure. Seen on 0.215.0: its sign-in, which nothing gets past offline."""

from __future__ import annotations

from dataclasses import replace

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import NESTING, missing_program
from ..terminals import in_terminal
from .argv import BINARY, INSTALL, OWN_SESSION
from .servers import settings

UNSEEN = (
    "Droid's interface was only seen as far as its sign-in: after it nothing is typed but by you"
    " (osrc session attach). --transport acp is steered."
)


def terminal(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session. Model and effort are its own settings': its interface has no flag for them."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    argv = [program]
    if task.conversation is not None:
        argv += ["--resume", task.conversation]
    notices = [UNSEEN]
    if task.model is not None or task.effort is not None:
        notices.append("Droid's interface takes its model and effort from its own settings, not from here.")
    env_set, files = settings(host)
    launch = in_terminal("droid", tuple(argv), env_set=env_set, env_strip=NESTING | OWN_SESSION, notices=tuple(notices))
    return replace(launch, files=files)
