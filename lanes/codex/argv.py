"""From a task to a ``codex exec`` command on the person's own sign-in. Pure."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..catalog.pools import CHATGPT_PLAN, OPENAI_KEY
from ..contract import Billing, Host, Launch, Task
from ..launching import NESTING, resumed
from ..vehicles.codex_cli.argv import RESUME, command, start
from ..vehicles.codex_cli.retries import log_words


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    ready = start(task, host, "codex")
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    argv, notices, effort = command(program, task, user_config=host.environment.get("OSRC_CODEX_USER_CONFIG") == "1")
    by_key = bool(host.environment.get("CODEX_API_KEY"))
    if by_key:
        notices.append("CODEX_API_KEY is set: the run is metered on that key, not on a ChatGPT plan.")
    return Launch(
        argv=(*argv, *resumed(task, RESUME), "-"),
        env_set=log_words(host.environment),
        env_strip=NESTING,
        stdin=prompt,
        notices=tuple(notices),
        billing=payer(host),
        effort=effort,
    )


def payer(host: Host) -> Billing:
    """Return who pays: a key in the environment goes before the sign-in."""
    return OPENAI_KEY if host.environment.get("CODEX_API_KEY") else CHATGPT_PLAN
