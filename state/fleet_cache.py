"""What is kept of other tools' sessions between looks: how far each transcript was read, and names that were given.

Two small files in the state home, ``fleet/offsets.json`` and ``fleet/names.json`` (0600). Both are caches: one that is
damaged, missing or of another version is as if nothing had been kept.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from .errors import StateError
from .files import read_private, write_private
from .home import Home

OFFSETS, NAMES = "offsets", "names"
LIMIT = 8 * 1024 * 1024
MOST = {OFFSETS: 2000, NAMES: 2000}
"""Entries that are kept, the newest."""
_VERSION = 1


def read_cache(home: Home, which: str) -> dict[str, Any]:
    """Return what was kept; empty where nothing can be made of it."""
    try:
        data = read_private(home.root / "fleet" / f"{which}.json", LIMIT)
        value = json.loads(data) if data else {}
    except (StateError, OSError, ValueError, RecursionError):
        return {}
    if not isinstance(value, dict) or value.get("version") != _VERSION or not isinstance(value.get("entries"), dict):
        return {}
    return dict(value["entries"])


def write_cache(home: Home, which: str, entries: Mapping[str, Any]) -> None:
    """Keep the newest entries (the last of ``entries``). A place that can't be written keeps nothing."""
    newest = dict(list(entries.items())[-MOST[which] :])
    data = json.dumps({"version": _VERSION, "entries": newest}, ensure_ascii=True).encode()
    if len(data) > LIMIT:
        return
    with contextlib.suppress(OSError, StateError):
        folder = home.root / "fleet"
        if not home.root.is_dir():
            return  # looking makes no state home
        folder.mkdir(mode=0o700, exist_ok=True)
        write_private(folder / f"{which}.json", data)
