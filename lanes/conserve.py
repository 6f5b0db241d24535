"""What to spare, and where work goes instead. Pure, standard library only.

local → Devin → keyless Gemini → Codex with headroom → OpenRouter
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What the Claude plan's gauges say. ``unknown``: there is no fresh one, and nothing is advised by an old one."""

    verdict: Literal["conserve", "headroom", "unknown"]
    used: float | None
    """How far the fullest window is used, 0.0 to 1.0."""
    lane: str | None
    """Where to send work instead, of the lanes that are here; None where there is no cheaper one, or no need."""
    why: str


def advise(
    used: float | None, line: float, here: AbstractSet[str], *, keyless_gemini: bool, codex_headroom: bool
) -> Advice:
    """Return the advice. ``line`` (0.0 to 1.0) is where sparing begins; ``here`` are the lanes that a glance saw."""
    if used is None:
        return Advice(verdict="unknown", used=None, lane=None, why="the Claude plan's gauges are not freshly known")
    said = f"the Claude plan's fullest window is {used * 100:.0f}% used"
    if used < line:
        return Advice(verdict="headroom", used=used, lane=None, why=said)
    order = (
        ("local", "local" in here),
        ("devin", "devin" in here),
        ("gemini", "gemini" in here and keyless_gemini),
        ("codex", "codex" in here and codex_headroom),
        ("cc", "cc" in here),
    )
    lane = next((name for name, fits in order if fits), None)
    return Advice(verdict="conserve", used=used, lane=lane, why=said)
