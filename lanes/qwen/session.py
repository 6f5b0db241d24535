"""From a session to ``qwen --acp``. Pure. Seen on 0.24.4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...messages.refusals import Refused
from ..catalog.pools import OPENAI_COMPATIBLE_KEY
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import missing_program
from ..vehicles.acp.session import over_acp
from .argv import BINARY, INSTALL, environment_key

AUTH: Mapping[str, str] = {"OPENAI_API_KEY": "openai", "GEMINI_API_KEY": "gemini", "ANTHROPIC_API_KEY": "anthropic"}
"""The key that sets it up → the word that says so: over ACP a key in the environment alone is none to it."""


def over(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session. The model goes in argv: over the protocol its ids are of its own making."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    argv = [program, "--acp"]
    env_set: dict[str, str] = {}
    if task.model is not None:
        argv += ["-m", task.model]
        if not any(host.environment.get(name) for name in ("OPENAI_MODEL", "QWEN_MODEL")):
            env_set["OPENAI_MODEL"] = task.model
    key = environment_key({**host.environment, **env_set})
    if key is not None and key in AUTH:
        argv += ["--auth-type", AUTH[key]]
    billing = OPENAI_COMPATIBLE_KEY if key == "OPENAI_API_KEY" else None
    return over_acp(replace(task, model=None), tuple(argv), env_set=env_set, billing=billing)
