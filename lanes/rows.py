"""The built-in lanes, one row each: what is known of a lane before it is loaded. Standard library only, for ``brief``.

The lanes themselves know better (``osrc lanes`` asks them); tests hold this table to theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..messages.vocabulary import Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One lane's row. With neither programs nor a key, a glance can't tell whether the lane is here."""

    tier: Tier
    """The lane's default tier."""
    programs: tuple[str, ...] = ()
    """Programs, any of which has to be there for the lane to be worth asking."""
    key: str | None = None
    """The variable of the key that it can't do without."""
    signs: tuple[str, ...] = ()
    """Files that a sign-in leaves, any of them; where none is named, a sign-in can't be seen."""
    moved_to: bool = True
    """Whether work may be moved to it by itself. Not where a model is no stand-in for one elsewhere, or where none is
    known without a name."""

    @property
    def seen_at_a_glance(self) -> bool:
        """Whether programs or a key tell that the lane may be here."""
        return bool(self.programs or self.key)


ROWS: Mapping[str, Row] = {
    "claude": Row(tier=Tier.FRONTIER, programs=("claude",), signs=("~/.claude/.credentials.json",)),
    "codex": Row(tier=Tier.FRONTIER, programs=("codex",), signs=("~/.codex/auth.json",)),
    "gemini": Row(
        tier=Tier.MID,
        programs=("gemini", "agy"),
        signs=("~/.gemini/antigravity-cli", "~/.gemini/oauth_creds.json"),
    ),
    "devin": Row(tier=Tier.CAPABLE, programs=("devin",)),
    "copilot": Row(tier=Tier.MID, programs=("copilot",)),
    "droid": Row(tier=Tier.MID, programs=("droid",)),
    "warp": Row(tier=Tier.MID, programs=("oz",)),
    "cursor": Row(tier=Tier.MID, programs=("cursor-agent",)),
    "cline": Row(tier=Tier.MID, programs=("cline",)),
    "opencode": Row(tier=Tier.MID, programs=("opencode",)),
    "qwen": Row(tier=Tier.CAPABLE, programs=("qwen",)),
    "pi": Row(tier=Tier.MID, programs=("pi",)),
    "hermes": Row(tier=Tier.MID, programs=("hermes",)),
    "cc": Row(tier=Tier.MID, programs=("claude",), key="OPENROUTER_API_KEY"),
    "codexor": Row(tier=Tier.MID, programs=("codex",), key="OPENROUTER_API_KEY"),
    "claudex": Row(tier=Tier.FRONTIER),  # its proxy is looked for, not its program
    "tokenrouter": Row(tier=Tier.MID, key="TOKENROUTER_API_KEY", moved_to=False),
    "local": Row(tier=Tier.BUDGET, moved_to=False),  # told by its port
    "embedded": Row(tier=Tier.RAW, moved_to=False),
    "acp": Row(tier=Tier.MID, moved_to=False),
}
"""Name (its folder's, too) → row, in the order in which work is moved by itself; declared lanes come after."""

LOCAL_PORTS = (11434, 1234, 8080)
"""Where a model server of this machine usually listens: Ollama, LM Studio, llama.cpp."""
