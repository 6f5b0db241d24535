"""The state home's lock: whoever holds it looks after the jobs that nobody else looks after.

A lock and not a ping: a holder that is slow is not dead, and the kernel frees the lock of one that is.
The supervisor holds it for life; a tree inside a command takes it only when it meets an orphan.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading

from ..state.errors import from_os_error
from ..state.files import FILES
from ..state.home import Home


class HomeLock:
    """One process's hold on the lock. Safe to use from any thread."""

    def __init__(self, home: Home) -> None:
        """Hold nothing yet."""
        self._path = home.lock_file
        self._guard = threading.Lock()
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Take the lock if it is free; True when it is ours, now or before. Raises StateError if it can't be opened."""
        with self._guard:
            if self._descriptor is None:
                self._descriptor = self._try()
            return self._descriptor is not None

    def sign(self, data: bytes) -> None:
        """Write into the file who holds it, or nothing any more. Only a hint: failing is harmless."""
        with self._guard, contextlib.suppress(OSError):
            if self._descriptor is not None:
                os.ftruncate(self._descriptor, 0)
                os.lseek(self._descriptor, 0, os.SEEK_SET)
                os.write(self._descriptor, data)

    @property
    def held(self) -> bool:
        """Whether it is ours."""
        return self._descriptor is not None

    @property
    def displaced(self) -> bool:
        """Whether it is ours and no longer in its place: the state home was removed, maybe there is another by now."""
        with self._guard:
            if self._descriptor is None:
                return False
            try:
                return not os.path.samestat(os.fstat(self._descriptor), self._path.stat())
            except (FileNotFoundError, NotADirectoryError):
                return True
            except OSError:
                return False  # it could not be looked at

    def release(self) -> None:
        """Let go; harmless when it is not held."""
        with self._guard:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _try(self) -> int | None:
        try:
            descriptor = FILES.open(self._path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise from_os_error(error, self._path, "use") from error
        try:
            if sys.platform == "win32":
                import msvcrt  # noqa: PLC0415  Windows only

                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            else:
                import fcntl  # noqa: PLC0415  not on Windows

                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor
