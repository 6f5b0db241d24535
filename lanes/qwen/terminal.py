"""From a session to Qwen Code's own interface. Pure. Seen on 0.24.4."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..catalog.pools import OPENAI_COMPATIBLE_KEY
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import missing_program
from ..terminals import in_terminal
from .argv import BINARY, INSTALL, environment_key


def terminal(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session. ``default``: in its own default, ``auto``, a model decides what may run."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    argv = [program, "--approval-mode", "default"]
    env_set: dict[str, str] = {}
    if task.conversation is not None:
        argv += ["-r", task.conversation]
    if task.model is not None:
        argv += ["-m", task.model]
        if not any(host.environment.get(name) for name in ("OPENAI_MODEL", "QWEN_MODEL")):
            env_set["OPENAI_MODEL"] = task.model
    by_key = environment_key({**host.environment, **env_set}) == "OPENAI_API_KEY"
    if by_key:
        argv += ["--auth-type", "openai"]
    billing = OPENAI_COMPATIBLE_KEY if by_key else None
    return in_terminal("qwen", tuple(argv), env_set=env_set, billing=billing)
