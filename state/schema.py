"""The number of the newest schema this version knows: that of the last file in ``migrations/``."""

from __future__ import annotations

from .errors import StateError, printable

SCHEMA = 7


def newer(path: str, found: int) -> StateError:
    """Return the sentence for a store that a newer version wrote."""
    return StateError(
        "state_newer",
        f"{printable(path)} has schema {found}, and this version knows schemas up to {SCHEMA}",
        "upgrade outsourcerer, or choose another folder with OSRC_HOME=/path",
    )
