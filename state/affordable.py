"""How many jobs may start with the memory that is free: pure."""

from __future__ import annotations

KEPT_FREE = 256 << 20
"""Bytes that are never given to one more job."""


def affordable(wanted: int, *, free: int | None, need: int | None, young: int, at_work: int) -> int:
    """Return how many of ``wanted`` jobs may start now.

    ``free`` bytes are available, each such job has used ``need`` before; ``young`` ones that were started just
    now have not taken theirs yet. Unknown (None) holds nobody back. One may always start when none is at work:
    waiting for memory that nobody of ours would free could last for ever.
    """
    if wanted <= 0 or free is None or not need:
        return max(0, wanted)
    room = (free - KEPT_FREE - young * need) // need
    return max(1 if at_work == 0 else 0, min(wanted, room))
