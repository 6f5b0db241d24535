"""From a task to a ``codex exec`` command that speaks to OpenRouter instead of OpenAI. Pure."""

from __future__ import annotations

import json
from dataclasses import replace

from ...messages.refusals import Refused
from .. import openrouter
from ..contract import Host, Launch, Task
from ..launching import NESTING, resumed
from ..vehicles.codex_cli.argv import RESUME, command, start
from ..vehicles.codex_cli.retries import log_words

STRIP = frozenset({*NESTING, "CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"})


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn. The key's variable is named in the command, never its value."""
    ready = start(task, host, "codexor")
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    account = openrouter.account(host)
    if isinstance(account, Refused):
        return account
    base, key = account
    named = replace(task, model=task.model or openrouter.DEFAULT_MODEL)
    argv, notices, effort = command(program, named, user_config=False)
    provider = {"name": "OpenRouter", "base_url": f"{base}/v1", "env_key": openrouter.KEY, "wire_api": "responses"}
    settings = [f"model_providers.openrouter.{name}={json.dumps(value)}" for name, value in provider.items()]
    # Seen on 0.171.0: the commands that the model runs inherit the key otherwise.
    hidden = f"shell_environment_policy.exclude={json.dumps([openrouter.KEY])}"
    for setting in ('model_provider="openrouter"', *settings, hidden):
        argv += ["-c", setting]
    return Launch(
        argv=(*argv, *resumed(task, RESUME), "-"),
        env_set={openrouter.KEY: key, **log_words(host.environment)},
        env_strip=STRIP,
        stdin=prompt,
        notices=tuple(notices),
        model=named.model,
        effort=effort,
    )
