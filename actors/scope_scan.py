"""Which credential files lie in what a delegate may read: every folder below the roots, hidden and ignored ones too.

The scan fails closed: whatever could not be looked at makes it incomplete, and an incomplete scan is a refusal. It
never waits: FIFOs and devices are not opened, a file is read up to ``files.HEAD`` bytes, links are followed once, and
the whole has a deadline.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..lanes.secrets.files import HEAD, PRUNED, content_kind, credential_kind, needs_content, suspects
from ..state.errors import printable
from ..state.files import open_regular

FOUND_MOST = 50
"""So many finds are enough to refuse."""

_PRUNED = frozenset(os.fsencode(name) for name in PRUNED)
_CHECKED_EVERY = 4096
_PIPE = "pipe that may hand out a secret"
_GONE = (errno.ENOENT, errno.ENOTDIR)


@dataclass(frozen=True, slots=True)
class Found:
    """A credential file."""

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What a scan saw."""

    found: tuple[Found, ...]
    complete: bool
    """False: something was not looked at, so nothing may leave."""
    why: str | None
    """What was not looked at, and why, as a sentence's end."""
    files: int
    """How many names were looked at."""


def scan(
    roots: Sequence[str], *, deadline_s: float, clock: Callable[[], float], limit_files: int = 2_000_000
) -> ScanResult:
    """Look through ``roots`` (folders or files). ``clock`` gives monotonic seconds.

    Of a folder in ``files.PRUNED`` only its own files are looked at. A symbolic link counts by its own name and by its
    target's; a linked folder outside the roots is looked through as if it lay inside, unless a root lies in it.
    A folder that the user can't read is passed over when it belongs to somebody else (the delegate can't read it
    either), and makes the scan incomplete when it is the user's own (the delegate could open it up).
    """
    return _Scan(roots, deadline_s, clock, limit_files).run()


class _Scan:
    def __init__(self, roots: Sequence[str], deadline_s: float, clock: Callable[[], float], limit_files: int) -> None:
        self._clock = clock
        self._deadline = clock() + deadline_s
        self._deadline_s = deadline_s
        self._limit = limit_files
        self._roots = [os.path.realpath(os.fsencode(root)) for root in roots]
        self._waiting: list[tuple[bytes, bool]] = []
        self._linked: set[bytes] = set()
        self._found: dict[bytes, str] = {}
        self._files = 0
        self._why: str | None = None

    def run(self) -> ScanResult:
        for root in dict.fromkeys(self._roots):
            self._root(root)
        while self._waiting and self._why is None and len(self._found) < FOUND_MOST:
            self._folder(*self._waiting.pop())
        found = tuple(Found(os.fsdecode(path), kind) for path, kind in sorted(self._found.items()))
        return ScanResult(found, self._why is None, self._why, self._files)

    def _root(self, root: bytes) -> None:
        try:
            mode = os.stat(root).st_mode
        except OSError as error:
            self._stop(f"{_printable(root)} could not be looked at: {error.strerror}")
            return
        if stat.S_ISDIR(mode):
            self._waiting.append((root, False))
        else:
            self._file(root)

    def _folder(self, path: bytes, shallow: bool) -> None:
        """Look at one folder's names; its subfolders wait."""
        names: list[bytes] = []
        links: list[bytes] = []
        folders: list[bytes] = []
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                        continue
                    names.append(entry.name)
                    if entry.is_symlink():
                        links.append(entry.name)
                    if not len(names) % _CHECKED_EVERY and self._over(len(names)):
                        return
        except OSError as error:
            self._unreadable(path, error)
        if self._over(len(names)):
            return
        self._files += len(names)
        for name in suspects(names, os.path.basename(path)):
            self._file(os.path.join(path, name))
        if not shallow:
            for name in links:
                self._link(os.path.join(path, name))
            self._waiting += ((os.path.join(path, name), name.lower() in _PRUNED) for name in folders)

    def _over(self, more: int) -> bool:
        """Tell whether the scan is at one of its bounds, which ends it."""
        if self._clock() > self._deadline:
            self._stop(f"looking took longer than {self._deadline_s:g} s")
        elif self._files + more > self._limit:
            self._stop(f"there are more than {self._limit} files")
        return self._why is not None

    def _link(self, path: bytes) -> None:
        """Look at where a symbolic link leads."""
        target = os.path.realpath(path)
        if target in self._linked:
            return
        self._linked.add(target)
        try:
            mode = os.stat(target).st_mode
        except OSError as error:
            if error.errno not in (*_GONE, errno.ELOOP, errno.EACCES):
                self._stop(f"{_printable(path)} leads to what could not be looked at: {error.strerror}")
            return
        if not stat.S_ISDIR(mode):
            self._file(target, shown=path)
        elif not any(_within(root, target) or self._scanned(target, root) for root in self._roots):
            self._waiting.append((target, False))

    @staticmethod
    def _scanned(target: bytes, root: bytes) -> bool:
        """Tell whether the scan of ``root`` comes by ``target`` anyway."""
        if not _within(target, root):
            return False
        return _PRUNED.isdisjoint(target[len(root) :].lower().split(b"/"))

    def _file(self, path: bytes, shown: bytes | None = None) -> None:
        parts = tuple(os.fsdecode(path).split(os.sep))[-5:]
        kind = credential_kind(parts)
        if kind is None and needs_content(parts):
            head = self._head(path)
            kind = content_kind(parts, head) if head is not None else _PIPE if _is_pipe(path) else None
        if kind is not None:
            self._found[shown or path] = kind

    def _head(self, path: bytes) -> bytes | None:
        """Return the beginning of a regular file; None when there is none to be read by anybody of this user."""
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                return None  # opening a device may do something
            descriptor = open_regular(os.fsdecode(path), follow=True)
        except OSError as error:
            self._unreadable(path, error)
            return None
        try:
            parts = []
            rest = HEAD
            while rest > 0 and (part := os.read(descriptor, rest)):
                parts.append(part)
                rest -= len(part)
            return b"".join(parts)
        except OSError as error:
            self._unreadable(path, error)
            return None
        finally:
            os.close(descriptor)

    def _unreadable(self, path: bytes, error: OSError) -> None:
        if error.errno in (*_GONE, errno.ELOOP, errno.EINVAL):
            return  # gone or replaced meanwhile, or a link into nothing
        if error.errno in (errno.EACCES, errno.EPERM) and not _own(path):
            return
        self._stop(f"{_printable(path)} could not be read: {error.strerror}")

    def _stop(self, why: str) -> None:
        self._why = self._why or why


def _within(path: bytes, folder: bytes) -> bool:
    """Tell whether ``path`` is ``folder`` or lies in it."""
    return path == folder or path.startswith(folder.rstrip(b"/") + b"/")


def _is_pipe(path: bytes) -> bool:
    """Tell whether a name is that of a FIFO: password managers hand secrets out so, to whoever reads."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def _own(path: bytes) -> bool:
    if not hasattr(os, "geteuid"):
        return True  # nobody can tell: then it counts as ours, and is told
    try:
        return os.stat(path).st_uid == os.geteuid()
    except OSError:
        return False


def _printable(path: bytes) -> str:
    return printable(os.fsdecode(path))
