"""From a session to ``pi --mode rpc``. Pure. Seen on 0.73.1."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import NESTING, effort_word, missing_program
from .argv import BINARY, INSTALL, OWN_SESSION, THINKING

ASKS_NOBODY = "pi asks nobody: in a session it may change files and run any command."


def native(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    argv = [program, "--mode", "rpc"]
    if task.conversation is not None:
        argv += ["--session", task.conversation]
    if task.model is not None:
        argv += ["--model", task.model]
    effort, said = effort_word("pi", task.effort, THINKING)
    if effort is not None:
        argv += ["--thinking", effort]
    provider = task.model.partition("/")[0] if task.model and "/" in task.model else None
    return SessionLaunch(
        argv=tuple(argv),
        engine="pi",
        options={"provider": provider},
        env_strip=NESTING | OWN_SESSION,
        notices=(ASKS_NOBODY, *said),
        effort=effort,
    )
