"""Claude Code on somebody else's endpoint: what leads it there, and what must not lead it elsewhere. Pure."""

from __future__ import annotations

from ...contract import Host
from ...launching import NESTING

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
    }
)
"""Whatever would lead it to another account."""


def sources(host: Host) -> str:
    """Return the flag that says whose settings are read: never those of the work tree.

    Seen on 2.1.332: ``env`` in a folder's ``.claude/settings.json`` outranks the environment, so a work tree
    could have the key sent elsewhere. (``--bare`` would do too, but leaves no tool to search with.)
    """
    return "--setting-sources=" + ("user" if host.environment.get("OSRC_CLAUDE_USER_CONFIG") == "1" else "")


def environment(base: str, key: str, model: str) -> dict[str, str]:
    """Return the variables that lead Claude Code to ``base``, for every model it may ask for by itself."""
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
