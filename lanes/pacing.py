"""How many jobs of groups a lane bears at a time, and how far apart its CLI is to be started. Data.

The starts that are held apart are those of CLIs that rewrite a configuration of their own as they start: several
at once have left it damaged for their users.
"""

from __future__ import annotations

from collections.abc import Mapping

AT_MOST: Mapping[str, int] = {"devin": 2}
"""Lane → most at a time: Devin's own skills folder is one for all, and its jobs wait for each other."""

APART_S: Mapping[str, float] = {
    "claude": 0.4,
    "cc": 0.4,
    "claudex": 0.4,
    "tokenrouter": 0.4,
    "gemini": 0.3,
    "qwen": 0.3,
    "copilot": 0.3,
    "cursor": 0.3,
    "droid": 0.3,
    "opencode": 0.3,
    "cline": 0.3,
    "codex": 0.2,
    "codexor": 0.2,
    "devin": 0.5,
}
"""Lane → least seconds between two starts; another one's are not held apart."""


def read_caps(words: str) -> dict[str, int]:
    """Return the bounds that a setting gives: ``devin=2 codex=4``. Raises ValueError naming the word that is none.

    >>> read_caps("devin=2, codex=4")
    {'devin': 2, 'codex': 4}
    """
    caps: dict[str, int] = {}
    for word in words.replace(",", " ").split():
        lane, equals, number = word.partition("=")
        if not equals or not lane or not number.isascii() or not number.isdigit() or not 0 < int(number[:6]) <= 1000:
            raise ValueError(f"{word[:60]!a} is no bound of a lane: LANE=N, N from 1 to 1000")
        caps[lane] = int(number)
    return caps
