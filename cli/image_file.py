"""Where an image goes: a name that tells what it is, never over a file that is there, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import time

from .errors import CliError
from .place import current_folder, home_root

_KINDS = {"png": ("png",), "jpg": ("jpg", "jpeg", "jpe"), "gif": ("gif",), "webp": ("webp",)}
"""What a file is → the extensions that say so."""


def checked_target(given: str | None, *, force: bool) -> str | None:
    """Return the absolute path that a person gave, before anything is spent. Raises CliError for one that can't be."""
    if given is None:
        return None
    path = os.path.abspath(os.path.join(current_folder(), given))  # noqa: PTH100, PTH118 - no pathlib in the front end
    folder = os.path.dirname(path)  # noqa: PTH120 - as above
    if given.endswith("/") or os.path.isdir(path):  # noqa: PTH112 - as above
        raise CliError("usage", f"{given!a} is a folder", "give a file: OUT.png")
    if not os.path.isdir(folder):  # noqa: PTH112 - as above
        raise CliError("usage", f"there is no folder {folder!a}", f"mkdir -p {folder}")
    if not os.access(folder, os.W_OK):
        raise CliError("state_unwritable", f"{folder!a} can't be written", "give another place with -o")
    if os.path.lexists(path) and not force:
        raise CliError("usage", f"{given!a} is there already", "--force writes over it")
    return path


def save(data: bytes, kind: str, target: str | None, home: str | None, *, force: bool) -> str:
    """Write an image and return its path: where ``target`` says it is another kind, beside it with its own extension.

    Without a target it goes into ``images/`` of the state home. Raises CliError.
    """
    path = _own_place(kind, home) if target is None else _with_extension(target, kind)
    partial = f"{path}.{os.urandom(6).hex()}.part"
    try:
        mode = 0o600 if target is None else 0o666
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        if force:
            os.replace(partial, path)  # noqa: PTH105 - as above
        else:
            _put(partial, path)
    except FileExistsError:
        raise CliError("state_unwritable", f"{path!a} is there already", "--force writes over it") from None
    except OSError as error:
        code = "state_full" if error.errno in (28, 122) else "state_unwritable"
        raise CliError(code, f"the image can't be written to {path!a}: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(partial)  # noqa: PTH108 - as above
    return path


def _put(partial: str, path: str) -> None:
    """Give a file its name, where there is nothing yet. Raises FileExistsError."""
    try:
        os.link(partial, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        os.replace(partial, path)  # noqa: PTH105 - no pathlib in the front end


def _own_place(kind: str, home: str | None) -> str:
    folder = f"{home or home_root(os.environ)}/images"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - as above
    except OSError as error:
        why = f"{folder!a} can't be made: {error.strerror}"
        raise CliError("state_unwritable", why, "give a place: -o FILE") from None
    return f"{folder}/{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(3).hex()}.{kind}"


def _with_extension(target: str, kind: str) -> str:
    stem, dot, extension = target.rpartition(".")
    if dot and "/" not in extension and extension.lower() in _KINDS[kind]:
        return target
    known = any(extension.lower() in words for words in _KINDS.values())
    return f"{stem if dot and known and stem and not stem.endswith('/') else target}.{kind}"
