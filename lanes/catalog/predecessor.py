"""What the lane words of the predecessor's books mean here, and who paid for such a run. Data.

In its ledger ``cc`` is Claude Code on the person's own plan and ``or`` whatever went over OpenRouter; on its
command line the same ``cc`` was Claude Code over OpenRouter. This table is for the books.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..contract import Billing
from .pools import (
    ANTIGRAVITY_PLAN,
    CHATGPT_PLAN,
    CLAUDE_PLAN,
    CLAUDEX_PLAN,
    CURSOR_PLAN,
    DEVIN_PLAN,
    FACTORY,
    GEMINI_KEY,
    LOCAL,
    OPENROUTER,
    OWN_PROVIDER,
    TOKENROUTER,
    WARP,
)


@dataclass(frozen=True, slots=True)
class PastLane:
    """A lane of the books."""

    lane: str
    """Its name here."""
    pool: str
    paid: Literal["plan", "cash", "local", "plan-or-cash"]
    """``plan-or-cash``: a figure says that the plan was used up."""
    zero_is_unknown: bool = False
    """Its runs in the background were booked as 0 whether or not they cost anything."""


def _paid(lane: str, billing: Billing, paid: Literal["plan", "cash", "local", "plan-or-cash"]) -> PastLane:
    return PastLane(lane, billing.pool, paid)


_CHATGPT = _paid("codex", CHATGPT_PLAN, "plan")
_CLAUDE = _paid("claude", CLAUDE_PLAN, "plan")
_DEVIN = _paid("devin", DEVIN_PLAN, "plan-or-cash")
_GEMINI = _paid("gemini", ANTIGRAVITY_PLAN, "plan")
_OPENROUTER = _paid("cc", OPENROUTER, "cash")

PAST_LANES: Mapping[str, PastLane] = {
    "dv": _DEVIN,
    "devin": _DEVIN,
    "cc": _CLAUDE,
    "ccnative": _CLAUDE,
    "claude": _CLAUDE,
    "claude-native": _CLAUDE,
    "cx": _CHATGPT,
    "ci": _CHATGPT,
    "cxnative": _CHATGPT,
    "codex-native": _CHATGPT,
    "gm": _GEMINI,
    "gmnative": _GEMINI,
    "antigravity-agy": _GEMINI,
    "gi": _paid("gemini", GEMINI_KEY, "cash"),
    "or": _OPENROUTER,
    "ccor": _OPENROUTER,
    "codexor": _paid("codexor", OPENROUTER, "cash"),
    "claudex": _paid("claudex", CLAUDEX_PLAN, "plan"),
    "cursor": _paid("cursor", CURSOR_PLAN, "plan"),
    "droid": _paid("droid", FACTORY, "cash"),
    "hermes": _paid("hermes", OWN_PROVIDER, "cash"),
    "warp": _paid("warp", WARP, "cash"),
    "cline": PastLane("cline", OWN_PROVIDER.pool, "cash", zero_is_unknown=True),
    "opencode": PastLane("opencode", OWN_PROVIDER.pool, "cash", zero_is_unknown=True),
    "tokenrouter": _paid("tokenrouter", TOKENROUTER, "cash"),
    "local": _paid("local", LOCAL, "local"),
}
"""Word of the books → what it was."""


def past_lane(word: str) -> PastLane:
    """Return what a word of the books means; one that is not known stays as it is, and pays cash."""
    return PAST_LANES.get(word.lower()) or PastLane(word.lower(), "", "cash", zero_is_unknown=True)
