"""From a task to a ``claude -p`` command that speaks to OpenRouter instead of Anthropic. Pure."""

from __future__ import annotations

from ...messages.refusals import Refused
from .. import openrouter
from ..contract import Host, Launch, Task
from ..launching import effort_word, resumed
from ..vehicles.claude_code.argv import (
    EFFORTS,
    RESUME,
    THINKING_TOKENS,
    as_root,
    instructions,
    permissions,
    servers,
    start,
)
from ..vehicles.claude_code.gateway import STRIP, environment, sources


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    ready = start(task, host, "cc")
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    account = openrouter.account(host)
    if isinstance(account, Refused):
        return account
    base, key = account
    model = task.model or openrouter.DEFAULT_MODEL
    argv = [
        program,
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        *resumed(task, RESUME),
        sources(host),
        "--model",
        model,
    ]
    env_set, notices = as_root(task, host)
    effort, said = effort_word("Claude Code", task.effort, EFFORTS)
    if task.effort is not None and effort is not None:
        tokens = THINKING_TOKENS[task.effort]
        argv += ["--effort", effort]
        env_set["MAX_THINKING_TOKENS"] = str(tokens)
        notices = (
            *notices,
            f"effort {task.effort}: at most {tokens} thinking tokens, where the model heeds it.",
            *said,
        )
    read, told = instructions(task.cwd, host)
    argv += [
        *read,
        *servers(host, task.servers),
        *permissions(task.verb, host.environment.get("OSRC_ALLOWED_TOOLS"), task.servers),
    ]
    return Launch(
        argv=tuple(argv),
        env_set=env_set | told | environment(base, key, model),
        env_strip=STRIP | {openrouter.KEY},
        stdin=prompt,
        notices=notices,
        model=model,
        effort=effort,
    )
