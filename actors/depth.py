"""How deep delegates may delegate. A depth that can't be read counts as too deep."""

from __future__ import annotations

from collections.abc import Mapping

from ..messages.refusals import RefusalCode, Refused
from ..state.settings import Settings

NAMES = ("OUTSOURCERER_DEPTH", "OSRC_DEPTH")
DEPTH = NAMES[0]


def check_depth(environment: Mapping[str, str], settings: Settings) -> int | Refused:
    """Return how deep the caller is, or refuse one that may not delegate."""
    name = next((name for name in NAMES if environment.get(name)), "")
    word = environment.get(name) or "0"
    most = int(settings.number("max_depth") or 1)
    if not word.isascii() or not word.isdigit() or len(word) > 6:
        return Refused(
            code=RefusalCode.RECURSION,
            message=f"{name} is {word[:20]!a}, which is no depth: it can't be told whether this is a delegate already",
            hint=f"unset {name}, unless a delegate runs this",
        )
    if int(word) >= most:
        return Refused(
            code=RefusalCode.RECURSION,
            message=f"this is a delegate already (depth {word[:20]!r} of at most {most}): it may not delegate further",
            hint="do the work here; whoever began it may allow one level more (osrc config set max_depth)",
        )
    return int(word)
