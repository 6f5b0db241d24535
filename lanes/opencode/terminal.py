"""From a session to OpenCode's own interface. Pure. Seen on 1.18.33."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import missing_program
from ..terminals import in_terminal
from .argv import BINARY, CONFIG, INSTALL, MODELS, STRIP, folder_variables, words_of
from .rules import telling

ASK = '{"edit":"ask","bash":"ask","webfetch":"ask"}'
PERMISSION = "OPENCODE_PERMISSION"


def terminal(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session. Its own default allows everything: here it asks."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    argv = [program]
    if task.conversation is not None:
        argv += ["-s", task.conversation]
    model = MODELS.get(task.model, task.model) if task.model is not None else None
    if model is not None:
        argv += ["-m", model]
    told = telling(host.environment.get(CONFIG), words_of(task.cwd, host))
    env_set = {PERMISSION: ASK, CONFIG: told, "OPENCODE_DISABLE_AUTOUPDATE": "1", **folder_variables(host)}
    return in_terminal("opencode", tuple(argv), env_set=env_set, env_strip=STRIP, model=model)
