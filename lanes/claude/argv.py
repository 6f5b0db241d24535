"""From a task to a ``claude -p`` command on the person's own sign-in. Pure."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..catalog.pools import CLAUDE_KEY, CLAUDE_PLAN
from ..contract import Billing, Host, Launch, Task
from ..launching import NESTING, effort_word, resumed
from ..vehicles.claude_code.argv import EFFORTS, RESUME, as_root, instructions, permissions, servers, start

OWN_SETTINGS = "--setting-sources=user"
"""The person's settings, never the folder's. Seen on 2.1.332: those outrank the environment without being asked
about, so that a repository could have the prompt and the token sent to a stranger, and run hooks."""


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    ready = start(task, host, "claude")
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    effort, said = effort_word("Claude Code", task.effort, EFFORTS)
    notices = [*said]
    argv = [program, "-p", "--output-format", "stream-json", "--verbose", *resumed(task, RESUME)]
    if task.model is not None:
        argv += ["--model", task.model]
    if effort is not None:
        argv += ["--effort", effort]
    told: dict[str, str] = {}
    if not host.trust_folder:
        read, told = instructions(task.cwd, host)
        argv += [OWN_SETTINGS, *read]
    argv += [
        *servers(host, task.servers),
        *permissions(task.verb, host.environment.get("OSRC_ALLOWED_TOOLS"), task.servers),
    ]
    env_set, said = as_root(task, host)
    env_set |= told
    notices += said
    by_key = bool(host.environment.get("ANTHROPIC_API_KEY"))
    if by_key:
        notices.append("ANTHROPIC_API_KEY is set: the run is metered on that key, not on a Claude plan.")
    return Launch(
        argv=tuple(argv),
        env_set=env_set,
        env_strip=NESTING,
        stdin=prompt,
        notices=tuple(notices),
        billing=payer(host),
        effort=effort,
    )


def payer(host: Host) -> Billing:
    """Return who pays: a key in the environment goes before the sign-in."""
    return CLAUDE_KEY if host.environment.get("ANTHROPIC_API_KEY") else CLAUDE_PLAN
