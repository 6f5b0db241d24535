"""The work tree that a read-only promise is about: where it is, and whether a wall can stand around it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..lanes.contract import Host, Lane
from ..lanes.walls import BWRAP, Fence, guarded, inside, prefix
from ..messages.vocabulary import Verb
from ..state.home import Home
from ..state.settings import Settings

GUARD = "guard.json"
"""In a job's folder: what is promised of which tree."""
TRY_S = 5.0
_POINTER_LIMIT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A read-only promise that is ours to keep. Paths are absolute and resolved."""

    root: str
    """The work tree: the folder with ``.git`` in or above the job's folder, else the job's folder."""
    git_folders: tuple[str, ...] = ()
    """Of a git tree: its own git folder, then the one it shares with other work trees, if that is another."""
    skip: tuple[str, ...] = ()
    """Folders that others write to: never compared."""
    hidden: bool = True
    """Whether entries with a leading dot directly in ``root`` count. Not in a home folder: everybody writes there."""
    walled: bool = False
    """Whether the delegate sees the tree read-only."""

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> Guard | None:
        """Return what ``to_json`` made; None for anything else."""
        root = value.get("root") if value else None
        if value is None or not isinstance(root, str):
            return None
        return cls(
            root=root,
            git_folders=_words(value.get("git_folders")),
            skip=_words(value.get("skip")),
            hidden=value.get("hidden") is not False,
            walled=value.get("walled") is True,
        )


def guard_for(  # noqa: PLR0913, PLR0917  the facts of one promise
    lane: Lane, verb: Verb, cwd: str, host: Host, settings: Settings, home: Home
) -> tuple[Guard, Fence | None] | None:
    """Return what we must keep of a lane's promise, and the wall that does; None where the CLI keeps it itself."""
    if not guarded(lane, verb):
        return None
    root, git_folders = find_tree(cwd)
    trees = (root, *(folder for folder in git_folders if not _within(folder, root)))
    user_home = os.path.realpath(host.home)
    state = tuple(os.path.realpath(host.home + name[1:] if name.startswith("~") else name) for name in lane.state)
    fence = None
    if settings.text("wall") != "compare" and host.platform == "linux":
        path = host.environment.get("PATH", os.defpath)
        program = shutil.which(BWRAP, path=path)
        if program is not None:
            fence = Fence(program=os.path.realpath(program), trees=trees, writable=inside(state, trees), cwd=cwd)
            fence = fence if stands(fence) else None
    guard = Guard(
        root=root,
        git_folders=git_folders,
        skip=inside((*state, os.path.realpath(home.root)), (root,)),
        hidden=not _within(user_home, root),
        walled=fence is not None,
    )
    return guard, fence


def find_tree(cwd: str) -> tuple[str, tuple[str, ...]]:
    """Return the work tree that a folder is in and its git folders (none outside git). Asks no git."""
    start = Path(os.path.realpath(cwd))
    for folder in (start, *start.parents):
        if not os.path.lexists(f"{folder}{os.sep}.git"):  # cheaper than what follows, and mostly so
            continue
        if (found := _git_folder(folder / ".git")) is not None:
            shared = _pointer(found / "commondir")
            common = Path(os.path.realpath(found / shared)) if shared else found
            both = (found,) if common == found else (found, common)
            return os.fspath(folder), tuple(map(os.fspath, both))
    return os.fspath(start), ()


def project_of(cwd: str) -> tuple[str, ...]:
    """Return the folder and those above it up to the root of its work tree, the nearest first."""
    root = Path(find_tree(cwd)[0])
    above = Path(os.path.realpath(cwd)).parents
    return (cwd, *(os.fspath(folder) for folder in above if root == folder or root in folder.parents))


def stands(fence: Fence) -> bool:
    """Whether this very wall can be put up here: it is tried with a program that does nothing."""
    try:
        done = subprocess.run(
            (*prefix(fence), fence.program, "--version"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TRY_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _git_folder(place: Path) -> Path | None:
    """Return the git folder that a ``.git`` is or names (linked work trees and submodules name one)."""
    try:
        if (place / "HEAD").is_file():
            return Path(os.path.realpath(place))
    except OSError:
        return None
    text = _pointer(place)
    if text is None or not text.startswith("gitdir:"):
        return None
    found = Path(os.path.realpath(place.parent / text.removeprefix("gitdir:").strip()))
    return found if os.path.isdir(found) else None  # noqa: PTH112  it answers for any name; a path object raises


def _pointer(path: Path) -> str | None:
    """Return the one line of a small file, or None."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as file:
            data = file.read(_POINTER_LIMIT)
    except OSError:
        return None
    return os.fsdecode(data).strip() or None


def _within(folder: str, root: str) -> bool:
    return Path(root) == Path(folder) or Path(root) in Path(folder).parents


def _words(value: object) -> tuple[str, ...]:
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, (list, tuple)) else ()
