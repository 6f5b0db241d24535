"""From a session to ``opencode acp``. Pure. Seen on 1.18.33."""

from __future__ import annotations

import json
from dataclasses import replace

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import missing_program
from ..vehicles.acp.session import over_acp
from .argv import BINARY, CONFIG, INSTALL, MODELS, STRIP, folder_variables, words_of
from .events import CONTENDED
from .rules import asking


def over(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session. In its own defaults it asks for nothing: the rules given with it do."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    rules = json.dumps(asking(host.environment.get(CONFIG), words_of(task.cwd, host)), separators=(",", ":"))
    model = MODELS.get(task.model, task.model) if task.model is not None else None
    env_set = {CONFIG: rules, "OPENCODE_DISABLE_AUTOUPDATE": "1", **folder_variables(host)}
    launch = over_acp(replace(task, model=model), (program, "acp"), env_set=env_set, env_strip=STRIP)
    return replace(launch, model=model, contended=CONTENDED)
