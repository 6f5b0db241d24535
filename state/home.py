"""The state home: one private folder that holds everything kept, and proof that it can be written.

    home = Home.resolve(os.environ)     # pure: where it is
    home.preflight()                    # creates what is missing, or refuses with the two fixes

Standard library only: the front end runs this before every command that changes something.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import HOME_FIX, ROOM_FIX, StateError, from_os_error, not_regular, printable
from .files import FILES, PRIVATE_DIR, Files, read_private, write_private

__all__ = ["Home", "read_private", "user_home", "write_private"]

MIN_FREE_BYTES = 256 * 1024
"""Less room than this is a full disk: a decision, its write-ahead log and a job folder must all fit."""

_PROBE = ".writable"

_MARKS = frozenset({"state.db", "state.db.rebuilt", "supervisor.lock", "supervisor.json", "lanes.d", _PROBE})
"""A folder that holds one of these is a state home."""

_OURS = _MARKS | {
    "jobs",
    "sessions",
    "spool",
    "fleet",
    "supervisor.log",
    "supervisor.start",
    "models.local",
    "models.json",
    "lane-memory.json",
    "fanout",
    "loops",
    "cloud-consent",
    "lane-posture",
    "heartbeat.json",
    "bearings.json",
    "unwatched.json",
    "wakes",
    "parity.json",
    "parity.lock",
    "supervisor.token",
}
"""So is one that holds nothing but these: it was left half made."""


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of one state home. Making one touches nothing."""

    root: Path

    @classmethod
    def resolve(cls, environ: Mapping[str, str], override: str | None = None, *, cwd: str | None = None) -> Home:
        """Return the home: ``override``, else ``OSRC_HOME``, else ``~/.outsourcerer``; always absolute.

        A relative path is taken from ``cwd`` (default: the process's own). ``~`` is the environment's
        ``HOME``. Raises StateError when no home folder is known or the path can't be one.
        """
        given = override or environ.get("OSRC_HOME") or "~/.outsourcerer"
        if "\0" in given:
            raise StateError("state_unwritable", "the state home's path contains a NUL character", HOME_FIX)
        if given == "~" or given.startswith("~/"):
            given = user_home(environ) + given[1:]
        if not os.path.isabs(given):  # noqa: PTH117 - pathlib costs more than this whole function
            given = os.path.join(cwd if cwd is not None else _current_folder(), given)  # noqa: PTH118 - see above
        return cls(Path(os.path.normpath(given)))

    @property
    def jobs_dir(self) -> Path:
        """One folder per job."""
        return self.root / "jobs"

    @property
    def database(self) -> Path:
        """The SQLite store; ``-wal`` and ``-shm`` stand beside it."""
        return self.root / "state.db"

    @property
    def lock_file(self) -> Path:
        """Held by the supervisor for its whole life."""
        return self.root / "supervisor.lock"

    @property
    def supervisor_file(self) -> Path:
        """Who the supervisor is and where it listens (JSON)."""
        return self.root / "supervisor.json"

    @property
    def log_file(self) -> Path:
        """The supervisor's own log."""
        return self.root / "supervisor.log"

    @property
    def spool_dir(self) -> Path:
        """Large tasks on their way from a client to the supervisor."""
        return self.root / "spool"

    @property
    def lanes_dir(self) -> Path:
        """User-declared lanes, one TOML file each."""
        return self.root / "lanes.d"

    @property
    def sessions_dir(self) -> Path:
        """One folder per session."""
        return self.root / "sessions"

    def session_dir(self, session_id: str) -> Path:
        """Return the folder of one session. ``session_id`` must be a valid id: it becomes a path."""
        return self.root / "sessions" / session_id

    def loop_dir(self, loop_id: str) -> Path:
        """The folder of one loop."""
        return self.root / "loops" / loop_id

    def job_dir(self, job_id: str) -> Path:
        """Return the folder of one job. ``job_id`` must be a valid id: it becomes a path."""
        return self.root / "jobs" / job_id

    def preflight(self, files: Files = FILES) -> None:
        """Make the home usable, or raise StateError with the sentence and the fixes.

        Folders that are missing are created 0700; one of ours that others may enter is tightened
        without a word. Refused, and left as it is: a symbolic link, something that is not a folder,
        another owner, a folder that is used for something else, a place that can't be written, a
        disk without room. Ten system calls when all is well.
        """
        root = os.fspath(self.root)
        _refuse_foreign(root)
        _private_folder(root, files, parents=True)
        for name in ("jobs", "sessions", "spool", "lanes.d"):
            _private_folder(f"{root}/{name}", files)
        _prove_writable(root, files)
        _prove_room(root)

    def look(self) -> bool:
        """Return whether there is a state home; nothing is created or changed.

        Raises StateError for what ``preflight`` would refuse, as far as looking can tell.
        """
        root = os.fspath(self.root)
        try:
            os.lstat(root)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise from_os_error(error, root, "read") from error
        _refuse_foreign(root)
        for name in ("", "/jobs", "/sessions", "/spool", "/lanes.d"):
            if os.path.lexists(root + name):
                _check_folder(root + name, _lstat(root + name))
        if not os.access(root, os.W_OK | os.X_OK):
            raise StateError("state_unwritable", f"can't write {printable(root)}", HOME_FIX)
        if os.path.lexists(f"{root}/{_PROBE}"):
            _prove_writable(root, FILES, create=False)
        _prove_room(root)
        return True


def unreadable(root: str) -> StateError:
    """Return what is wrong with a state home that is there and can't be looked into, and what helps."""
    try:
        _check_folder(root, os.lstat(root))
        os.listdir(root)  # noqa: PTH208 - plain system calls throughout
        os.lstat(f"{root}/.")  # a folder may be listed and not be entered
    except StateError as error:
        return error
    except PermissionError as error:
        hint = f"chmod u+rwx {shlex.quote(printable(root))}, or choose another folder with OSRC_HOME=/path"
        return StateError("state_unwritable", f"can't read {printable(root)}: {error.strerror}", hint)
    except OSError as error:
        return from_os_error(error, root, "read")
    return StateError("state_unwritable", f"can't read {printable(root)}", HOME_FIX)


def user_home(environ: Mapping[str, str]) -> str:
    """Return the user's home folder: ``HOME``, else the password database's. Raises StateError when neither knows."""
    given = environ.get("HOME") or environ.get("USERPROFILE")
    if given and os.path.isabs(given):  # noqa: PTH117 - see Home.resolve
        return given
    try:
        import pwd  # noqa: PLC0415 - rarely needed, and absent on Windows

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        raise StateError(
            "state_unwritable", "no home folder is known (HOME is not set)", "set HOME, or OSRC_HOME=/path"
        ) from None


def _current_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - see Home.resolve
    except OSError as error:
        raise StateError(
            "state_unwritable",
            f"OSRC_HOME is a relative path, and the current folder can't be used: {error.strerror}",
            "give an absolute path: OSRC_HOME=/path",
        ) from error


def _private_folder(path: str, files: Files, *, parents: bool = False) -> None:
    """Check, create or tighten one folder."""
    try:
        seen = os.lstat(path)
    except FileNotFoundError:
        _create(path, files, parents=parents)
        seen = _lstat(path)
    except OSError as error:
        raise from_os_error(error, path, "use") from error
    _check_folder(path, seen)
    if stat.S_IMODE(seen.st_mode) & 0o077:
        try:
            os.chmod(path, PRIVATE_DIR)  # noqa: PTH101 - plain system calls throughout
        except OSError as error:
            raise from_os_error(error, path, "make private") from error


def _check_folder(path: str, seen: os.stat_result) -> None:
    """Refuse what can't be a folder of ours."""
    if stat.S_ISLNK(seen.st_mode):
        raise StateError(
            "state_unwritable",
            f"{printable(path)} is a symbolic link, and the state home never follows one",
            f"name the real folder: OSRC_HOME={printable(os.path.realpath(path))}",
        )
    if not stat.S_ISDIR(seen.st_mode):
        raise StateError("state_unwritable", f"{printable(path)} is not a folder", HOME_FIX)
    if hasattr(os, "geteuid") and seen.st_uid != os.geteuid():
        raise StateError("state_unwritable", f"{printable(path)} belongs to another user (uid {seen.st_uid})", HOME_FIX)


def _refuse_foreign(root: str) -> None:
    """Refuse a folder that is somebody's already: making a shared one private would lock everybody out."""
    try:
        seen = os.lstat(root)
        if not stat.S_ISDIR(seen.st_mode):
            return  # missing, or refused by ``_check_folder``
        shared = bool(seen.st_mode & stat.S_ISVTX and seen.st_mode & stat.S_IWOTH)
        if not shared and stat.S_ISDIR(os.lstat(f"{root}/lanes.d").st_mode):
            return
    except OSError:
        shared = False
    if not shared:
        try:
            names = frozenset(os.listdir(root))  # noqa: PTH208 - plain system calls throughout
        except OSError:
            return  # missing, or it can't be read: met when it is used
        if names & _MARKS or names <= _OURS:
            return
    what = "is shared by all users" if shared else "holds other files and is not a state home"
    raise StateError(
        "state_unwritable",
        f"{printable(root)} {what}: it is left as it is",
        f"name a folder of its own: OSRC_HOME={printable(root.rstrip('/'))}/outsourcerer",
    )


def _lstat(path: str) -> os.stat_result:
    try:
        return os.lstat(path)
    except OSError as error:
        raise from_os_error(error, path, "use") from error


def _create(path: str, files: Files, *, parents: bool) -> None:
    try:
        if parents:
            os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120 - plain system calls
        files.mkdir(path)
    except FileExistsError:
        return  # another command was faster; what is there now is checked like any other
    except OSError as error:
        raise from_os_error(error, path, "create") from error


def _prove_writable(root: str, files: Files, *, create: bool = True) -> None:
    """Open one fixed file for writing: ``os.access`` says yes to root on a read-only mount, this does not."""
    path = f"{root}/{_PROBE}"
    try:
        descriptor = files.open(path, os.O_WRONLY | (os.O_CREAT if create else 0))
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        files.close(descriptor)
    except OSError as error:
        raise from_os_error(error, path) from error
    if not regular:
        raise not_regular(path)


def _prove_room(root: str) -> None:
    """Refuse a full disk before a job is promised anything. File systems that report nothing are believed."""
    if not hasattr(os, "statvfs"):
        return
    try:
        seen = os.statvfs(root)
    except OSError as error:
        raise from_os_error(error, root, "use") from error
    superuser = os.geteuid() == 0
    blocks, inodes = (seen.f_bfree, seen.f_ffree) if superuser else (seen.f_bavail, seen.f_favail)
    if seen.f_blocks and blocks * seen.f_frsize < MIN_FREE_BYTES:
        raise StateError("state_full", f"the disk that holds {printable(root)} is full", ROOM_FIX)
    if seen.f_files and inodes == 0:
        raise StateError("state_full", f"the disk that holds {printable(root)} has no inodes left", ROOM_FIX)
