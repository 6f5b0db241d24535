"""Lanes that a person trusts with a repository: ``trusted-lanes.json`` beside config.toml.

    {"claude": ["/home/ada/work/app"], "codex": ["/home/ada/work/app", "/home/ada/notes"]}

For a trusted lane the scan for credential files stands down in these folders and below, and nothing
else does. The keys are lane words, of ours or of the predecessor. Whatever can't be believed denies:
a file that others may write, one that is damaged, a folder that can't be resolved.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import flags
from .errors import printable
from .settings import config_file

NAME = "trusted-lanes.json"
LIMIT = 256 * 1024
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Trusted:
    """What the file says. ``problem``: why nothing of it is believed."""

    path: str
    lanes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Lane word → folders as they are written there."""
    problem: str | None = None


def trusted_file(environ: Mapping[str, str]) -> Path:
    """Return where it stands: the user's config folder, by the caller's environment."""
    return config_file(environ).with_name(NAME)


def read_trusted(path: Path) -> Trusted:
    """Return what the file says; nothing where there is none. Never raises, never waits."""
    shown = printable(path)
    try:
        data = _read(path)
    except FileNotFoundError:
        return Trusted(shown)
    except NotADirectoryError:
        return Trusted(shown)
    except (OSError, ValueError) as error:
        words = (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error)
        return Trusted(shown, problem=f"{shown} is not used: {words}")
    try:
        return Trusted(shown, _entries(json.loads(data)))
    except (ValueError, RecursionError) as error:
        return Trusted(shown, problem=f"{shown} is not used: {str(error)[:200]}")


def trusts(trusted: Trusted, words: Collection[str], folders: Sequence[str]) -> bool:
    """Whether a lane that goes by one of ``words`` is trusted with every one of ``folders``. In doubt it is not."""
    places = [_resolved(place) for word in words for place in trusted.lanes.get(word, ())]
    known = [place for place in places if place is not None]
    wanted = [_resolved(folder) for folder in folders]
    return bool(known and wanted) and all(
        folder is not None and any(_within(folder, place) for place in known) for folder in wanted
    )


def trusts_itself(path: Path, folders: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether a variable led to a file within the very folders that it would speak for.

    The usual place is believed wherever the person works, their home included.
    """
    if path == trusted_file({name: value for name, value in environ.items() if name != "XDG_CONFIG_HOME"}):
        return False
    places = (os.path.abspath(path), os.path.realpath(path))  # noqa: PTH100  strings are compared
    return any(_within(place, os.path.realpath(folder)) for place in places for folder in folders)


def _read(path: Path) -> bytes:
    """Return the file's bytes. Raises OSError or ValueError, which says why it is not believed."""
    real = Path(os.path.realpath(path, strict=True))  # people keep their settings elsewhere and link to them
    for place in (path.parent, real.parent):
        if (wrong := _doubtful(place.stat())) is not None:
            raise ValueError(f"its folder {printable(place)} {wrong}")
    descriptor = os.open(real, flags.READ | flags.NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise ValueError("it is no regular file")
        if (wrong := _doubtful(seen)) is not None:
            raise ValueError(f"it {wrong}")
        data = file.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise ValueError(f"it is larger than {LIMIT} bytes")
    return data


def _doubtful(seen: os.stat_result) -> str | None:
    if not hasattr(os, "geteuid"):
        return None
    if seen.st_uid not in (os.geteuid(), 0):
        return f"belongs to another user (uid {seen.st_uid})"
    return "may be written by other users (chmod go-w)" if seen.st_mode & _OTHERS_MAY_WRITE else None


def _entries(value: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object of lanes and folders")  # noqa: TRY004  one kind of error for all of it
    found: dict[str, tuple[str, ...]] = {}
    for word, folders in value.items():
        if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
            raise ValueError(f"{printable(word)[:80]} does not name a list of folders")
        found[word] = tuple(folders)
    return found


def _resolved(folder: str) -> str | None:
    """Return the real path of a folder that exists; None for a relative one, for the root and for what is none."""
    if not os.path.isabs(folder) or "\0" in folder:  # noqa: PTH117  a string check
        return None
    try:
        real = os.path.realpath(folder, strict=True)
        is_folder = stat.S_ISDIR(os.lstat(real).st_mode)
    except (OSError, ValueError):
        return None
    return real if is_folder and os.path.dirname(real) != real else None  # noqa: PTH120  as above


def _within(folder: str, place: str) -> bool:
    return folder == place or folder.startswith(place + os.sep)
