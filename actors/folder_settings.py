"""Looking for what the work folder itself would have a CLI do, before a job is sent there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ..lanes.contract import Host, Lane
from ..lanes.folder_settings import LIMIT, FolderFile, Form, harm
from ..messages.refusals import RefusalCode, Refused
from ..messages.vocabulary import Verb
from ..state import flags

TRUST = "OSRC_TRUST_FOLDER"


def check_folder(lane: Lane, verb: Verb, cwd: str, host: Host) -> Refused | None:
    """Refuse a folder whose own files would redirect the lane's CLI or have it run something unasked."""
    if host.trust_folder:
        return None
    given = frozenset(name for name, value in host.environment.items() if value)
    for file in lane.heeds:
        if verb.read_only and not file.read_only:
            continue
        for path in _places(file, cwd, host.home):
            if (key := _found(path, file, given)) is not None:
                return _refused(lane, path, key)
    return None


def _places(file: FolderFile, cwd: str, home: str) -> Iterator[Path]:
    """Yield where the file may be: in the folder and those above it, but for the person's own home."""
    start = Path(os.path.realpath(cwd))
    own = os.path.realpath(home)
    for folder in (start, *(start.parents if file.above else ())):
        if os.fspath(folder) != own:
            yield folder / file.path


def _found(path: Path, file: FolderFile, environment: frozenset[str]) -> str | None:
    """Return what is harmful in it; None when nothing is, or it is not there. No pipe is waited for."""
    try:
        if file.form is Form.FOLDER:
            return min((entry.name for entry in path.iterdir()), default=None)
        descriptor = os.open(path, flags.READ)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None  # what we can't read, a CLI of the same user can't either
    except OSError as error:
        return f"what can't be read: {error.strerror}"
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        return None if stat.S_ISDIR(mode) else "no ordinary file"
    with os.fdopen(descriptor, "rb") as opened:
        content = opened.read(LIMIT + 1)
    return f"more than {LIMIT} bytes" if len(content) > LIMIT else harm(file, content, environment)


def _refused(lane: Lane, path: Path, key: str) -> Refused:
    shown = os.fsencode(path).decode("utf-8", "backslashreplace")
    return Refused(
        code=RefusalCode.UNTRUSTED_FOLDER,
        message=(
            f"{shown} holds {key!a}: {lane.vehicle} would heed it unasked, and it can send your prompt and key "
            "elsewhere or run a program."
        ),
        hint=f"read it; if you stand behind it: {TRUST}=1 osrc ..., else take another lane (osrc lanes)",
    )
