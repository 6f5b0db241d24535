"""From a task to a ``claude -p`` command that speaks to OpenRouter instead of Anthropic. Pure."""

from __future__ import annotations

from ...messages.refusals import Refused
from .. import openrouter
from ..contract import Host, Launch, Task
from ..launching import NESTING
from ..vehicles.claude_code.argv import EFFORTS, THINKING_TOKENS, as_root, permissions, servers, start

STRIP = frozenset(
    {
        *NESTING,
        "ANTHROPIC_*",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CODE_USE_FOUNDRY",
        "CLAUDE_EFFORT",
        "MAX_THINKING_TOKENS",
        openrouter.KEY,
    }
)
"""Whatever would lead it to another account, or give its commands a second copy of the key."""


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
    argv = [program, "-p", "--output-format", "stream-json", "--verbose", sources(host), "--model", model]
    argv += [*servers(host), *permissions(task.verb, host.environment.get("OSRC_ALLOWED_TOOLS"))]
    env_set, notices = as_root(task, host)
    if task.effort is not None:
        argv += ["--effort", EFFORTS[task.effort]]
        tokens = THINKING_TOKENS[task.effort]
        env_set["MAX_THINKING_TOKENS"] = str(tokens)
        notices = (*notices, f"effort {task.effort}: at most {tokens} thinking tokens, where the model heeds it.")
    return Launch(
        argv=tuple(argv),
        env_set=env_set | environment(base, key, model),
        env_strip=STRIP,
        stdin=prompt,
        notices=notices,
    )


def sources(host: Host) -> str:
    """Return the flag that says whose settings are read: never those of the work tree.

    Seen on 2.1.332: ``env`` in a folder's ``.claude/settings.json`` outranks the environment, so a work tree
    could have the key sent elsewhere. (``--bare`` would do too, but leaves no tool to search with.)
    """
    return "--setting-sources=" + ("user" if host.environment.get("OSRC_CLAUDE_USER_CONFIG") == "1" else "")


def environment(base: str, key: str, model: str) -> dict[str, str]:
    """Return the variables that lead Claude Code to OpenRouter, for every model it may ask for by itself."""
    return {
        "ANTHROPIC_BASE_URL": base,
        "ANTHROPIC_AUTH_TOKEN": key,
        "ANTHROPIC_API_KEY": "",  # empty, not absent: a key in its settings would win otherwise
        "ANTHROPIC_MODEL": model,
        "ANTHROPIC_SMALL_FAST_MODEL": model,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": model,
        "ANTHROPIC_DEFAULT_SONNET_MODEL": model,
        "ANTHROPIC_DEFAULT_OPUS_MODEL": model,
    }
