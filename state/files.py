"""Private files: written whole or not at all, read with a bound, no symbolic link followed.

Every file operation of the state layer that can fail for want of room goes through a ``Files``
object, so that a test can fail any one of them. Standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from pathlib import Path

from .errors import StateError, from_os_error, not_regular, printable

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)

_HELD_OPEN_S = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2) if os.name == "nt" else ()
"""Windows replaces no file that somebody is reading, which takes a moment: how long is waited before each new try."""

PRIVATE_FILE = 0o600
PRIVATE_DIR = 0o700


class Files:
    """The operations that can fail for want of room or permission. A subclass may fail them on purpose."""

    def open(self, path: str | os.PathLike[str], flags: int) -> int:
        """Return a descriptor; a created file is 0600, a symbolic link at the end is never followed.

        A FIFO is not waited for. ENXIO when nobody reads it; else check what was opened.
        """
        return os.open(path, flags | _NOFOLLOW | _CLOEXEC | _NONBLOCK | _BINARY, PRIVATE_FILE)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """Return how many bytes were taken."""
        return os.write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        """Wait until the file is on the disk."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        """Close; may report a delayed write error (NFS, quotas)."""
        os.close(descriptor)

    def replace(self, source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
        """Rename over ``target``."""
        for pause_s in _HELD_OPEN_S:
            try:
                os.replace(source, target)  # noqa: PTH105 - a plain system call: this is the seam itself
            except PermissionError:
                time.sleep(pause_s)
            else:
                return
        os.replace(source, target)  # noqa: PTH105 - as above

    def mkdir(self, path: str | os.PathLike[str]) -> None:
        """Create one folder, 0700."""
        os.mkdir(path, PRIVATE_DIR)  # noqa: PTH102 - see replace


FILES = Files()
"""The real one."""


def write_private(path: str | os.PathLike[str], data: bytes, *, fsync: bool = False, files: Files = FILES) -> None:
    """Make ``path`` hold exactly ``data``, 0600, or leave it as it was.

    A temporary file beside it is written and renamed over it, so that a reader or a crash sees the
    old content or the new one. With ``fsync`` both the file and its folder are on the disk before
    this returns. Raises StateError; the temporary file is removed, even on a full disk.
    """
    target = os.fspath(path)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")  # noqa: PTH118 - hot path
    try:
        _write_new(files, temporary, data, fsync=fsync)
        files.replace(temporary, target)
        if fsync:
            sync_folder(folder or ".", files)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108 - hot path
        raise from_os_error(error, target) from error


def place_private(path: Path, data: bytes, *, executable: bool = False, files: Files = FILES) -> None:
    """Write a private file in folders of its own (0700); one to be run, too. Raises StateError."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise from_os_error(error, path.parent, "create") from error
    write_private(path, data, files=files)
    if executable:
        path.chmod(0o700)


def create_private(path: str | os.PathLike[str], data: bytes, *, files: Files = FILES) -> bool:
    """Create ``path`` with ``data`` unless it exists: True when this call created it, whoever else tried.

    The content may be seen half-written; use it where existence is what counts. Raises StateError.
    """
    try:
        descriptor = files.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return False
    except OSError as error:
        raise from_os_error(error, path, "create") from error
    try:
        try:
            _write_all(files, descriptor, data)
        finally:
            files.close(descriptor)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108 - the caller must be able to try again
        raise from_os_error(error, path) from error
    return True


def read_private(path: str | os.PathLike[str], limit: int) -> bytes | None:
    """Return the content of a regular file of at most ``limit`` bytes, or None when there is none.

    Never blocks on a FIFO and never follows a symbolic link at the end of the path. Raises
    StateError for anything that is not such a file: STATE_DAMAGED when it is something else or too
    large, STATE_UNWRITABLE when it can't be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _NOFOLLOW | _CLOEXEC | _NONBLOCK | _BINARY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise not_regular(path) from error
        raise from_os_error(error, path, "read") from error
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise not_regular(path)
        if seen.st_size > limit:
            raise _too_large(path, limit)
        data = _read_all(descriptor, limit + 1)
    except OSError as error:
        raise from_os_error(error, path, "read") from error
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise _too_large(path, limit)
    return data


def open_regular(path: str | os.PathLike[str], flags: int = os.O_RDONLY, *, follow: bool = False) -> int:
    """Return a descriptor of a regular file; a created one is 0600. Never waits for the other end of a FIFO.

    Raises OSError, also for what is no regular file and, without ``follow``, for a symbolic link.
    """
    flags |= _CLOEXEC | _NONBLOCK | _BINARY | (0 if follow else _NOFOLLOW)
    descriptor = os.open(path, flags, PRIVATE_FILE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
    return descriptor


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """Return up to ``size`` bytes from ``offset``; where the descriptor stands is not kept. Raises OSError."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


def set_aside(path: Path, suffix: str, ending: str = "") -> Path | None:
    """Rename ``path`` to ``path`` + ``suffix`` (numbered when taken): the new path, or None when nothing is there.

    ``ending`` is the end of the name that stays the end (``state.db-wal`` → ``state.db.old-wal``).
    Raises StateError when it can't be moved.
    """
    stem = path.name.removesuffix(ending)
    for number in range(1, 1000):
        target = path.with_name(f"{stem}{suffix}" + (f".{number}" if number > 1 else "") + ending)
        if os.path.lexists(target):
            continue
        try:
            path.rename(target)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise from_os_error(error, path, "set aside") from error
        return target
    raise StateError("state_damaged", f"too many damaged copies of {printable(path)}", "remove the old ones")


def holds_none_of(path: Path, beginnings: tuple[str, ...]) -> bool:
    """Whether it is a folder, no link to one, in which nothing is named so; a file half-written bears a dot in front.

    False where that can't be seen.
    """
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            return False
        with os.scandir(path) as entries:
            return not any(entry.name.lstrip(".").startswith(beginnings) for entry in entries)
    except OSError:
        return False


def sync_folder(folder: str | os.PathLike[str], files: Files = FILES) -> None:
    """Put a folder's own entries on the disk. Raises OSError; a file system that can't is taken as done."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | _CLOEXEC)
    except OSError:
        return
    try:
        files.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def _too_large(path: str | os.PathLike[str], limit: int) -> StateError:
    return StateError("state_damaged", f"{printable(path)} is larger than {limit} bytes: it was not read")


def _read_all(descriptor: int, most: int) -> bytes:
    parts = []
    while most > 0 and (part := os.read(descriptor, min(most, 1 << 20))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _write_all(files: Files, descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        taken = files.write(descriptor, rest)
        if taken <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rest = rest[taken:]


def _write_new(files: Files, path: str, data: bytes, *, fsync: bool) -> None:
    descriptor = files.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        _write_all(files, descriptor, data)
        if fsync:
            files.fsync(descriptor)
    finally:
        files.close(descriptor)
