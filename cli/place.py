"""Where the state home is, without importing it: ``state.home`` costs more than a whole warm command.

A test holds ``home_root`` to the same answers as ``state.home.Home.resolve``.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .errors import CliError

if TYPE_CHECKING:
    from ..state.home import Home

_FILE_LIMIT = 64 * 1024
CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""As ``state.flags`` has it."""


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


def readable_root(environ: Mapping[str, str], override: str | None = None) -> str:
    """Return the same path, for whoever is about to look. Raises StateError where what is there can't be looked into.

    A home that does not exist yet holds nothing; a file in its place, a link to nowhere or a folder that may not be
    read is no empty home. Two system calls where all is well.
    """
    root = home_root(environ, override)
    _refuse_unreadable(root)
    return root


def full_home(environ: Mapping[str, str], override: str | None = None) -> Home:
    """Return the state layer's own Home. Raises StateError where there can't be one, as ``readable_root`` does."""
    from ..state.home import Home  # noqa: PLC0415 - not on the hot path

    home = Home.resolve(environ, override)
    _refuse_unreadable(os.fspath(home.root))
    return home


def _refuse_unreadable(root: str) -> None:
    try:
        if stat.S_ISDIR(os.stat(root).st_mode) and os.access(root, os.R_OK | os.X_OK):  # noqa: PTH116 - see home_root
            return
    except FileNotFoundError:
        if not os.path.lexists(root):
            return
    except OSError:
        pass  # what is wrong is said below
    from ..state.home import unreadable  # noqa: PLC0415 - on the way to an error

    raise unreadable(root)


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


def open_regular(path: str, flags: int = os.O_RDONLY) -> int:
    """Return a descriptor of a regular file; a new one is 0600. Waits for nobody, follows no symbolic link.

    Raises OSError, whose ``strerror`` says so where the path is something else.
    """
    try:
        more = CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags | more, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.EINVAL, "it is a symbolic link", path) from None
        if error.errno in (errno.ENXIO, errno.EISDIR):
            raise OSError(errno.EINVAL, "it is not a regular file", path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return descriptor


def read_supervisor_file(root: str) -> dict[str, Any] | None:
    """Return who the supervisor says it is, or None when nothing that can be read says so.

    ``supervisor.json`` says it; where that was lost, the lock that a supervisor holds for its whole life
    says the same. Both are hints: who really listens is proved by the handshake.
    """
    return _read_identity(f"{root}/supervisor.json") or _read_identity(f"{root}/supervisor.lock")


def _read_identity(path: str) -> dict[str, Any] | None:
    try:
        descriptor = open_regular(path)
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
