"""Repository and branch of a folder, read from git's own small files: no git is started, nothing is locked."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .fleet_stores import small_file

_UP = 40
_BRANCH = b"ref: refs/heads/"


@dataclass(frozen=True, slots=True)
class Repository:
    """Whose folder it is."""

    name: str
    """The name of the main work tree's folder."""
    branch: str | None
    """None where no branch is checked out."""


def repository_of(folder: str) -> Repository | None:
    """Return the repository that a folder lies in, or None."""
    for _ in range(_UP):
        if not folder or folder == "/":
            return None
        found = _at(folder)
        if found is not None:
            return found
        folder = folder.rpartition("/")[0]
    return None


def _at(folder: str) -> Repository | None:
    git = f"{folder}/.git"
    if not os.path.isdir(git):  # noqa: PTH112 - strings throughout
        said = small_file(git, 4096)
        if said is None or not said.startswith(b"gitdir: "):
            return None
        git = os.path.normpath(os.path.join(folder, os.fsdecode(said[8:].strip())))  # noqa: PTH118 - as above
    head = small_file(f"{git}/HEAD", 4096)
    if head is None:
        return None
    branch = head[len(_BRANCH) :].decode("utf-8", "replace").strip() if head.startswith(_BRANCH) else None
    main = git.partition("/.git/worktrees/")[0] if "/.git/worktrees/" in git else folder
    return Repository(main.rpartition("/")[2] or main, branch or None)
