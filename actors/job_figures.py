"""The live figures of a running job: what people who look are shown beyond its record."""

from __future__ import annotations

from typing import Any

from ..lanes.evidence import Evidence
from ..state.job_machine import JobMachine


def figures(evidence: Evidence, machine: JobMachine, *, attached: bool, unread: int | None) -> dict[str, Any]:
    """Return the figures. ``unread``: bytes of output still to be read after the process ended; None before."""
    found = {
        "progress": evidence.progress.model_dump(),
        "model_observed": evidence.model,
        "silent_s": round(machine.watch.silent_s, 1),
        "supervision": "attached" if attached else "supervised",
        "tokens": evidence.usage.model_dump() if evidence.usage else None,
    }
    if unread:
        found["note"] = f"its process has ended; {size_words(unread)} of its output are still to be read"
    return found


def size_words(size: int) -> str:
    """Return a size for people.

    >>> size_words(900), size_words(2_500_000)
    ('900 bytes', '2.5 MB')
    """
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size} bytes"
