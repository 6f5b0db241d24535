"""Folders in which nothing may be changed: by their name, and by where symbolic links lead."""

from __future__ import annotations

import os
from collections.abc import Iterable


def protected_by(folder: str, places: Iterable[str], user_home: str) -> str | None:
    """Return the place that ``folder`` is, or lies in; None where it is free.

    Both are taken as they are written and as links resolve them, and every combination counts. ``~`` is ``user_home``.
    A relative place protects nothing: it would be another one in each folder.
    """
    ours = _forms(folder)
    for place in places:
        whole = user_home + place[1:] if place == "~" or place.startswith("~/") else place
        if os.path.isabs(whole) and any(_within(one, other) for one in ours for other in _forms(whole)):  # noqa: PTH117  a string check
            return whole
    return None


def _forms(path: str) -> tuple[str, str]:
    # Case says nothing where the system says so.
    return os.path.normcase(os.path.normpath(path)), os.path.normcase(os.path.realpath(path))


def _within(folder: str, place: str) -> bool:
    return folder == place or folder.startswith(place.rstrip(os.sep) + os.sep)
