"""Which lanes may be here, told by a glance: programs, keys and ports. Standard library only, for ``brief``.

The lanes themselves know better (``osrc lanes`` asks them); a test holds this table to theirs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What has to be there for a lane to be worth asking."""

    lane: str
    programs: tuple[str, ...] = ()
    """Any of them."""
    key: str | None = None
    """The variable of the key that it can't do without."""
    signs: tuple[str, ...] = ()
    """Files that a sign-in leaves, any of them; where none is named, a sign-in can't be seen."""


LANES: tuple[Glance, ...] = (
    Glance(lane="claude", programs=("claude",), signs=("~/.claude/.credentials.json", "~/.claude.json")),
    Glance(lane="codex", programs=("codex",), signs=("~/.codex/auth.json",)),
    Glance(
        lane="gemini",
        programs=("gemini", "agy"),
        signs=("~/.gemini/antigravity-cli", "~/.gemini/oauth_creds.json"),
    ),
    Glance(lane="devin", programs=("devin",)),
    Glance(lane="copilot", programs=("copilot",)),
    Glance(lane="droid", programs=("droid",)),
    Glance(lane="cursor", programs=("cursor-agent",)),
    Glance(lane="warp", programs=("oz",)),
    Glance(lane="cline", programs=("cline",)),
    Glance(lane="opencode", programs=("opencode",)),
    Glance(lane="qwen", programs=("qwen",)),
    Glance(lane="pi", programs=("pi",)),
    Glance(lane="hermes", programs=("hermes",)),
    Glance(lane="cc", programs=("claude",), key="OPENROUTER_API_KEY"),
    Glance(lane="codexor", programs=("codex",), key="OPENROUTER_API_KEY"),
    Glance(lane="tokenrouter", key="TOKENROUTER_API_KEY"),
)
"""Built-in lanes whose needs a glance can see; ``local`` is told by its port."""

LOCAL_PORTS = (11434, 1234, 8080)
"""Where a model server of this machine usually listens: Ollama, LM Studio, llama.cpp."""
