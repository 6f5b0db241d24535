"""Prose files on disk: which they are, what would change in each, and the change itself, whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..lanes.secrets.wording import Swap
from ..lanes.secrets.wording import sanitize as reworded
from .place import CLOEXEC, open_regular

LIMIT = 16 * 1024 * 1024
"""Longest file that is looked at, in bytes."""

SUFFIXES = (".md", ".markdown", ".mdown", ".mdx", ".rst", ".txt", ".text", ".adoc", ".asciidoc", ".org")
NAMES = frozenset({"readme", "changelog", "changes", "news", "notes", "todo", "contributing", "authors", "history"})
_INSTALLED = frozenset({"node_modules", "site-packages", "vendor", "__pycache__"})


@dataclass(frozen=True, slots=True)
class Report:
    """One file that was looked at."""

    path: str
    swaps: tuple[Swap, ...]
    written: bool

    @property
    def shown(self) -> str:
        """Its path for a sentence: one line, whatever its bytes."""
        return printable(self.path)

    def to_json(self) -> dict[str, Any]:
        """Return it for ``--json``."""
        swaps = [{"line": swap.line, "word": swap.word, "instead": swap.instead} for swap in self.swaps]
        return {"path": self.shown, "written": self.written, "swaps": swaps}


@dataclass(frozen=True, slots=True)
class Refusal:
    """One file that was not changed, and why."""

    path: str
    why: str
    failed: bool
    """False: it is none of ours. True: it should have been."""

    @property
    def shown(self) -> str:
        """Its path for a sentence."""
        return printable(self.path)


def printable(path: str) -> str:
    """Return a path as one line that any terminal can show."""
    return path if path.isprintable() else ascii(path)[1:-1]


def examine(paths: Iterable[str], *, write: bool, aggressive: bool) -> Iterator[Report | Refusal]:
    """Look at each file, and at each prose file below a folder; with ``write`` change it. Yields one for each."""
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 - a name may hold any bytes
            for found in _below(path):
                yield _one(found, write=write, aggressive=aggressive)
        elif not os.path.lexists(path):
            yield Refusal(path, os.strerror(errno.ENOENT), failed=True)
        elif not is_prose(path):
            yield Refusal(path, "not prose: its name says that it is something else", failed=False)
        else:
            yield _one(path, write=write, aggressive=aggressive)


def is_prose(path: str) -> bool:
    """Tell by its name whether a file is prose."""
    name = os.path.basename(path).lower()  # noqa: PTH119 - as above
    return name.endswith(SUFFIXES) or name in NAMES


def _below(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _INSTALLED and not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(place, name)  # noqa: PTH118 - as above
            if is_prose(name) and not os.path.islink(path):  # noqa: PTH114 - as above
                yield path


def _one(path: str, *, write: bool, aggressive: bool) -> Report | Refusal:
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            before = os.fstat(file.fileno())
            data = file.read(LIMIT + 1)
        if len(data) > LIMIT:
            return Refusal(path, f"longer than {LIMIT >> 20} MiB", failed=True)
        if b"\0" in data:
            return Refusal(path, "not prose: it is binary", failed=False)
        text, swaps = reworded(data.decode("utf-8", "surrogateescape"), aggressive=aggressive)
        if not swaps or not write:
            return Report(path, swaps, written=False)
        _replace(path, text.encode("utf-8", "surrogateescape"), before)
    except OSError as error:
        return Refusal(path, error.strerror or str(error), failed=True)
    return Report(path, swaps, written=True)


def _replace(path: str, data: bytes, before: os.stat_result) -> None:
    """Put ``data`` in the place of what was read, with its mode. Raises OSError."""
    now = os.lstat(path)
    if (now.st_ino, now.st_mtime_ns, now.st_size) != (before.st_ino, before.st_mtime_ns, before.st_size):
        raise OSError(0, "it changed meanwhile: nothing was written")
    if now.st_nlink > 1:
        raise OSError(0, "it has other hard links, which would keep the old text: nothing was written")
    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            os.fsync(file.fileno())
        os.replace(temporary, path)  # noqa: PTH105 - as above
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108 - as above
        raise
