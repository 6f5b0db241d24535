"""What the tap found in a settings file, byte for byte, and what it made of it. Pure.

By it a file that nobody touched since becomes what it was. Kept in the state home, an entry for each settings file.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any

FILE = "tap-backup.json"
LIMIT = 64 * 1024 * 1024
_MOST = 8
"""Settings files that are remembered."""


def remembered(kept: bytes | None, path: str, found: bytes | None, made: bytes) -> bytes:
    """Return the receipt ``kept`` with one more: ``made`` is put at ``path``, where ``found`` stood; None is no file.

    Where what was found is what an earlier tap of ours made, what that one found counts.
    """
    entries = _entries(kept)
    earlier = entries.pop(path, None)
    if earlier is not None and found is not None and earlier.get("made") == _digest(found):
        first = earlier.get("before")
    else:
        first = None if found is None else base64.b64encode(found).decode()
    rest = dict(list(entries.items())[-(_MOST - 1) :])
    return _text({**rest, path: {"made": _digest(made), "before": first}})


def before_it(kept: bytes | None, path: str, found: bytes) -> tuple[bool, bytes | None]:
    """Return whether the file is as the tap left it, and then what it was; None is no file."""
    entry = _entries(kept).get(path)
    if entry is None or entry.get("made") != _digest(found):
        return False, None
    text = entry.get("before")
    if text is None:
        return True, None
    try:
        return True, base64.b64decode(text, validate=True)
    except (ValueError, TypeError, binascii.Error):
        return False, None


def forgotten(kept: bytes | None, path: str) -> bytes | None:
    """Return the receipt without a settings file; None where nothing is left in it."""
    entries = _entries(kept)
    entries.pop(path, None)
    return _text(entries) if entries else None


def _entries(kept: bytes | None) -> dict[str, dict[str, Any]]:
    try:
        data = json.loads(kept or b"")
    except (ValueError, RecursionError):
        return {}
    files = data.get("files") if isinstance(data, dict) and data.get("schema_version") == "1" else None
    if not isinstance(files, dict):
        return {}
    return {path: entry for path, entry in files.items() if isinstance(entry, dict)}


def _text(entries: dict[str, dict[str, Any]]) -> bytes:
    return json.dumps({"schema_version": "1", "files": entries}).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
