"""Keys, read one variable at a time: from the caller's environment, then from ``~/.env``.

The file is never sourced and nothing but the one name is taken from it. One that belongs to somebody
else, or that everybody may write, could lead work to an account of theirs: nothing is taken from it. What
is found goes to the one process that needs it, through its environment.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping

from ..state import flags

FILE_LIMIT = 1 << 20
"""Longest ``~/.env`` in bytes; a longer one is not read."""

_KEY = re.compile(r"[\x21-\x7e]{1,4096}")
"""What may stand in an HTTP header as it is."""


def named_secrets(names: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return those of ``names`` that are set, with their values."""
    found: dict[str, str] = {}
    content: str | None = None
    for name in names:
        value = environment.get(name, "").strip()
        if not value:
            if content is None:
                content = _read(f"{environment.get('HOME') or '/'}/.env")
            value = value_in(content, name) or ""
        if _KEY.fullmatch(value):
            found[name] = value
    return found


def value_in(content: str, name: str) -> str | None:
    """Return what a ``.env`` file gives ``name``: the last line wins, ``export``, quotes and a comment are dropped."""
    found: str | None = None
    for raw in content.split("\n"):
        line = raw.strip().removeprefix("export ").lstrip()
        head, equals, rest = line.partition("=")
        if equals and head.rstrip() == name:
            found = _unquoted(rest.strip())
    return found


def _unquoted(text: str) -> str:
    if text[:1] in ('"', "'"):
        inner, closing, _ = text[1:].partition(text[0])
        return inner if closing else text[1:]
    if text.startswith("#"):
        return ""
    for mark in (" #", "\t#"):
        text = text.partition(mark)[0]
    return text.rstrip()


def _read(path: str) -> str:
    """Return the file's text, nothing where there is none. A link to one is followed: people keep theirs elsewhere."""
    try:
        descriptor = os.open(path, flags.READ)
    except OSError:
        return ""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_LIMIT or _foreign(found):
            return ""
        return os.read(descriptor, FILE_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _foreign(found: os.stat_result) -> bool:
    """Whether somebody else may have written a file."""
    return hasattr(os, "geteuid") and (found.st_uid not in (os.geteuid(), 0) or bool(found.st_mode & stat.S_IWOTH))
