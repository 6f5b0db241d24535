"""Which files are credentials, by name, by place and, where those don't tell, by a look inside.

    credential_kind(("home", "me", ".ssh", "id_rsa"))      # "SSH private key"
    needs_content(("repo", ".npmrc"))                      # True: look inside
    content_kind(("repo", ".npmrc"), b"//r/:_authToken=…") # "package registry login"

A path is its parts, the file's name last. Upper and lower case are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .looks import LOOKS, has_token
from .matching import compiled
from .places import HARMLESS, PLACES, PRUNED, TEMPLATES, Place

__all__ = ["HEAD", "PRUNED", "content_kind", "credential_kind", "needs_content", "suspects"]

HEAD = 1 << 20
"""As much of a file as is looked at, in bytes."""


def credential_kind(path_parts: tuple[str, ...]) -> str | None:
    """Return what kind of credential file this is by its name and place alone; None when they don't say."""
    return next((place.kind for place in _fitting(path_parts) if place.content is None), None)


def needs_content(path_parts: tuple[str, ...]) -> bool:
    """Tell whether this file may be a credential, which its content decides."""
    if credential_kind(path_parts):
        return False
    return bool(_fitting(path_parts)) or _is_template(_lower(path_parts))


def content_kind(path_parts: tuple[str, ...], head: bytes) -> str | None:
    """Return what kind of credential file this is, given its first ``HEAD`` bytes."""
    if _is_template(_lower(path_parts)):
        return "template with a real secret" if has_token(head) else None
    for place in _fitting(path_parts):
        if place.content is None or LOOKS[place.content](head):
            return place.kind
    return None


def suspects(names: Iterable[bytes], folder: bytes) -> list[bytes]:
    """Return those of a folder's ``names`` that the functions above may say something about: one pass over them all."""
    if folder.lower() in _FOLDERS:
        return list(names)
    text = b"\0" + b"\0\0".join(names) + b"\0"
    return [match.group(1) for match in _SUSPECT.finditer(text)]


def _lower(path_parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() for part in path_parts[-4:])


def _fitting(path_parts: tuple[str, ...]) -> list[Place]:
    parts = _lower(path_parts)
    if not parts or parts[-1] in HARMLESS or _is_template(parts):
        return []
    return [place for place, name in _ROWS if name.fullmatch(parts[-1]) and _lies_within(place.within, parts[:-1])]


def _lies_within(within: tuple[str, ...], folders: tuple[str, ...]) -> bool:
    return not within or folders[-len(within) :] == within


def _is_template(parts: tuple[str, ...]) -> bool:
    """Tell whether the last name is that of a template of a credential file."""
    name = parts[-1] if parts else ""
    stem = next((name[: -len(ending)] for ending in TEMPLATES if name.endswith(ending)), "")
    return bool(stem) and any(pattern.fullmatch(stem) for place, pattern in _ROWS if not place.within)


def _glob(name: str, anything: str) -> str:
    return re.escape(name).replace(r"\*", f"{anything}*").replace(r"\?", anything)


_ROWS = tuple((place, re.compile("|".join(_glob(name, ".") for name in place.names), re.DOTALL)) for place in PLACES)
_FOLDERS = frozenset(place.within[-1].encode() for place in PLACES if place.within)


def _suspect() -> Any:  # noqa: ANN401  google-re2 has no types
    names = "|".join(sorted({_glob(name, r"[^\x00]") for place in PLACES if not place.within for name in place.names}))
    endings = "|".join(re.escape(ending) for ending in TEMPLATES)
    return compiled(rf"(?i)\x00((?:{names})(?:{endings})?)\x00")


_SUSPECT = _suspect()
