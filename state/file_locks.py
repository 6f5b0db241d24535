"""Advisory locks on open files, which the kernel frees when their holder is gone."""

from __future__ import annotations


def try_lock(descriptor: int) -> bool:
    """Take the lock of an open file if it is free; closing the file frees it.

    True, too, where there are no such locks: on Windows, and on a file system without them.
    """
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # POSIX lets a file system say either of a lock that is held
        return False
    except OSError:
        return True
    return True
