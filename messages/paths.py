r"""Paths as an environment and programs' own files write them. Pure: a path of Windows is one wherever it is read.

home_of({"USERPROFILE": "C:\\Users\\a"})   -> "C:\\Users\\a"
is_absolute("C:/work")                     -> True
"""

from __future__ import annotations

from collections.abc import Mapping


def home_of(environment: Mapping[str, str]) -> str:
    """Return whose home an environment is: ``HOME``, else Windows' name of it, else the root."""
    return environment.get("HOME") or environment.get("USERPROFILE") or "/"


def is_absolute(path: str) -> bool:
    r"""Whether a path says of itself where it begins: ``/x``, ``C:\x``, ``C:/x``, ``\\server\x``."""
    drive = path[:1].isascii() and path[:1].isalpha() and path[1:3] in {":\\", ":/"}
    return path.startswith(("/", "\\\\")) or drive
