"""Expected trouble with what is kept, in words a person can act on.

    StateError             the sentence, its code, and what to do next
    └─ DamagedStore        the database can't be believed: ``recovery`` sets it aside and rebuilds

Every ``OSError`` of this layer becomes one of these here, every ``sqlite3.Error`` in ``sqlite_errors``.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ..messages.refusals import Refused

Code = Literal[
    "state_unwritable",
    "state_full",
    "state_damaged",
    "state_newer",
    "bad_config",
    "no_such_job",
    "ambiguous_job",
    "no_such_session",
    "session_ended",
    "no_sessions",
    "not_finished",
    "denied",
    "bad_request",
]
"""Values of ``RefusalCode`` that this layer raises; strings, so that raising one needs no pydantic."""

FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
"""No room, or no quota left."""

HOME_FIX = "choose another folder with OSRC_HOME=/path/you/can/write, or add this one to the sandbox's allow-write list"
"""The two fixes of an unwritable state home."""

ROOM_FIX = "free some space, or choose another disk with OSRC_HOME=/path"


REBUILD_FIX = "osrc supervisor restart rebuilds it from the job folders"
"""What helps against a store that can't be believed."""


class StateError(Exception):
    """The state layer can't do what was asked. ``str()`` is the sentence for a person."""

    def __init__(self, code: Code, message: str, hint: str | None = None) -> None:
        """Keep the parts; ``hint`` is what to do next."""
        super().__init__(message)
        self.code: Code = code
        self.message = message
        self.hint = hint

    @property
    def refusal(self) -> Refused:
        """The same as a message."""
        from ..messages.refusals import RefusalCode, Refused  # noqa: PLC0415 - keeps pydantic off the front end's path

        return Refused(code=RefusalCode(self.code), message=self.message, hint=self.hint)

    def __reduce__(self) -> tuple[type[StateError], tuple[Code, str, str | None]]:
        """Pickle by the three arguments (Exception's own way would pass only the sentence)."""
        return (type(self), (self.code, self.message, self.hint))


class DamagedStore(StateError):  # noqa: N818 - named for what it is; every error here is a StateError
    """The database is not one, or contradicts itself."""

    def __init__(self, code: Code = "state_damaged", message: str = "", hint: str | None = None) -> None:
        """Keep the parts; all have a default."""
        super().__init__(code, message or "the state database is damaged", hint or REBUILD_FIX)


def printable(path: str | os.PathLike[str]) -> str:
    """Return a path for a sentence: one line, whatever its bytes."""
    text = os.fspath(path)
    return text if text.isprintable() else ascii(text)


def from_os_error(error: OSError, path: str | os.PathLike[str], doing: str = "write") -> StateError:
    """Return the sentence for an ``OSError`` met while doing something to ``path``.

    ``doing`` is a verb, for example ``"create"`` or ``"read"``.
    """
    where = printable(path)
    if error.errno in FULL_ERRNOS:
        what = "the disk is full" if error.errno == errno.ENOSPC else "the disk quota is used up"
        return StateError("state_full", f"can't {doing} {where}: {what}", ROOM_FIX)
    if error.errno == errno.EROFS:
        return StateError("state_unwritable", f"can't {doing} {where}: the file system is read-only", HOME_FIX)
    if error.errno == errno.ELOOP:
        return StateError(
            "state_unwritable",
            f"can't {doing} {where}: it is a symbolic link, and none is followed here",
            "put the real file or folder there",
        )
    if error.errno in (errno.ENXIO, errno.EISDIR):
        return not_regular(path)
    reason = error.strerror or type(error).__name__
    return StateError("state_unwritable", f"can't {doing} {where}: {reason}", HOME_FIX)


def not_regular(path: str | os.PathLike[str], code: Code = "state_damaged") -> StateError:
    """Return the sentence for a FIFO, a folder, a socket or a device where a file of ours should be."""
    where = printable(path)
    return StateError(code, f"{where} is not a regular file: it is not used", f"remove it: {where}")
