"""The zone of this machine's clock, with its rules: what an offset alone does not tell of another day."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

LOCALTIME = Path("/etc/localtime")
_MARK = "zoneinfo/"


def local_zone(environ: Mapping[str, str], localtime: Path = LOCALTIME) -> tzinfo:
    """Return the zone that ``TZ`` or the machine names; one without rules where neither can be read."""
    word = environ.get("TZ", "").removeprefix(":")
    if word in ("UTC", "UTC0"):
        return UTC
    if word:
        name = word.partition(_MARK)[2] if word.startswith("/") else word
        return _named(name) or _now()
    try:
        target = os.path.realpath(localtime)
        found = _named(target.partition(_MARK)[2])
        if found is not None:
            return found
        with localtime.open("rb") as file:
            return ZoneInfo.from_file(file, key=None)
    except (OSError, ValueError):
        return _now()


def _named(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _now() -> tzinfo:
    """Return the offset of this instant as a zone."""
    return datetime.now().astimezone().tzinfo or UTC
