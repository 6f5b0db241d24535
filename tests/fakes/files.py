"""Looking at folders that others write in at the same time: what vanishes between two looks is no error."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path


def files_under(root: Path) -> Iterator[tuple[Path, bytes]]:
    """Every regular file below ``root`` with its content; one that is removed meanwhile is left out."""
    for folder, _, names in os.walk(root):  # a folder that vanishes is passed over
        for name in names:
            path = Path(folder, name)
            with contextlib.suppress(FileNotFoundError):
                if stat.S_ISREG(path.lstat().st_mode):  # a pipe or a socket would hold us up
                    yield path, path.read_bytes()


def holding(root: Path, *words: str) -> list[str]:
    """The files below ``root`` that hold one of these words."""
    return [str(path) for path, content in files_under(root) if any(word.encode() in content for word in words)]
