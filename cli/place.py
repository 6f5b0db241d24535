"""Where the state home is, without importing it: ``state.home`` costs more than a whole warm command.

A test holds ``home_root`` to the same answers as ``state.home.Home.resolve``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .errors import CliError

if TYPE_CHECKING:
    from ..state.home import Home

_FILE_LIMIT = 64 * 1024


def home_root(environ: Mapping[str, str], override: str | None = None) -> str:
    """Return the absolute path of the state home: ``override``, else ``OSRC_HOME``, else ``~/.outsourcerer``."""
    given = override or environ.get("OSRC_HOME") or "~/.outsourcerer"
    user = environ.get("HOME") or ""
    if given == "~" or given.startswith("~/"):
        if not user.startswith("/"):
            return str(full_home(environ, override).root)
        given = user + given[1:]
    if "\0" in given:
        return str(full_home(environ, override).root)
    if not given.startswith("/"):
        given = os.path.join(current_folder(), given)  # noqa: PTH118 - no pathlib on the hot path
    return os.path.normpath(given)


def full_home(environ: Mapping[str, str], override: str | None = None) -> Home:
    """Return the state layer's own Home. Raises StateError where there can't be one."""
    from ..state.home import Home  # noqa: PLC0415 - not on the hot path

    return Home.resolve(environ, override)


def current_folder() -> str:
    """Return the current folder. Raises CliError when it is gone or its name can't be sent."""
    try:
        folder = os.getcwd()  # noqa: PTH109 - no pathlib on the hot path
    except OSError as error:
        raise CliError(
            "bad_cwd", f"the current folder can't be used: {error.strerror}", "cd somewhere else, or give --cwd DIR"
        ) from None
    return sendable_folder(folder)


def sendable_folder(folder: str) -> str:
    """Return ``folder`` unchanged if it is UTF-8. Raises CliError otherwise."""
    try:
        folder.encode("utf-8")
    except UnicodeEncodeError:
        raise CliError(
            "bad_cwd", f"the folder's name is not UTF-8: {folder!a}", "rename it, or give another one with --cwd"
        ) from None
    return folder


def read_supervisor_file(root: str) -> dict[str, Any] | None:
    """Return who the supervisor says it is, or None when there is no such file, or none that can be read.

    The file is a hint: who really listens is proved by the handshake. No symbolic link is followed.
    """
    try:
        descriptor = os.open(f"{root}/supervisor.json", os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        data = os.read(descriptor, _FILE_LIMIT)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    try:
        value = json.loads(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) and isinstance(value.get("socket"), str) else None
