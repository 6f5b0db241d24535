"""What a CLI would heed that lies in the work folder itself: endpoints, hooks, programs to start. Pure.

A repository is somebody else's text. Several CLIs read settings from it that send the person's prompt and key
elsewhere, or run a program before the model has said a word. A lane switches that off where its CLI can; where it
can't, it names the files here, and what of them does no harm. The rest is refused, by file and key.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum

LIMIT = 1024 * 1024
"""Longest file that is judged; a longer one is refused."""

LOADERS = (
    "BASH_ENV",
    "BUN_",
    "DYLD_",
    "ENV",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "LD_",
    "NODE_",
    "OTEL_",
    "SSL_",
)
"""Starts of variables that lead any program elsewhere, or have it load code."""

_ASSIGNED = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]{0,99})[ \t]*[=:]", re.MULTILINE)
_OWN_CHOICE = ("_API_KEY", "_MODEL")
"""Ends of variables that a project's ``.env`` may set: they name its own account, and nobody's endpoint."""


class Form(StrEnum):
    """How a file says what it sets."""

    JSON = "json"
    TOML = "toml"
    DOTENV = "dotenv"
    FOLDER = "folder"
    """A folder whose every file is run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFile:
    """One file that a CLI reads from the work folder."""

    path: str
    """Relative to the folder, with ``/``."""
    form: Form
    names: frozenset[str] = frozenset()
    """Of JSON and TOML: the keys that do no harm, every other one does. Of a dotenv: starts of names that do."""
    above: bool = True
    """Whether the CLI also reads it in the folders above."""
    read_only: bool = True
    """False: only verbs that may write have the CLI read it."""


def harm(file: FolderFile, content: bytes, environment: frozenset[str]) -> str | None:
    """Return the first key by which ``content`` would lead the CLI elsewhere, None when there is none.

    ``environment`` has the names that the caller has set: a ``.env`` does not replace those.
    """
    if file.form is Form.DOTENV:
        return _variable(content, file.names, environment)
    try:
        data = json.loads(content) if file.form is Form.JSON else tomllib.loads(content.decode())
    except (ValueError, RecursionError):
        return "what can't be read as plain " + file.form.value.upper()
    if not isinstance(data, dict):
        return None
    return next((key[:80] for key, value in data.items() if value and key not in file.names), None)


def _variable(content: bytes, starts: frozenset[str], environment: frozenset[str]) -> str | None:
    harmful = (*sorted(starts), *LOADERS)
    for match in _ASSIGNED.finditer(content.decode("utf-8", "replace")):
        name = match[1]
        if name in environment or name.endswith(_OWN_CHOICE):
            continue
        if name.upper().startswith(harmful):
            return name
    return None
