"""A wall of our own for CLIs whose read-only mode is none: the command line that puts one around them. Pure.

bubblewrap (``bwrap``) starts a program in a mount namespace of its own. Everything stays as it is but
the work tree, which is bound read-only over itself: whatever the program or its children try there
fails with "Read-only file system". Facts seen on bubblewrap 0.8.0 (Debian 12):

* Without a user namespace of its own, a delegate that runs as root gets around it (the process that
  waits outside shows the whole machine under ``/proc/PID/root``), so one is always made, and no
  capability is kept: the mount can then neither be undone nor left.
* Its exit code is the program's, or 128 + N after signal N.
* It is not ended with its starter (``--die-with-parent`` is not given): delegates outlive supervisors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from ..messages.vocabulary import Verb
from .contract import Lane, Launch, Wall

BWRAP = "bwrap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """What one wall is made of; absolute paths, resolved."""

    program: str
    """bubblewrap."""
    trees: tuple[str, ...]
    """Folders that become read-only: the work tree, and a git folder that lies elsewhere."""
    writable: tuple[str, ...] = ()
    """Folders inside them that stay writable."""
    cwd: str
    """The delegate's folder, as it was given."""


def guarded(lane: Lane, verb: Verb) -> bool:
    """Whether it is we who keep this verb's promise: by a wall where one stands, by comparing always."""
    return lane.wall is Wall.OURS and verb.read_only


def prefix(fence: Fence) -> tuple[str, ...]:
    """Return the words in front of a command that put it behind the wall."""
    words = [fence.program, "--unshare-user", "--cap-drop", "ALL", "--dev-bind", "/", "/"]
    for tree in fence.trees:
        words += ["--ro-bind", tree, tree]
    for folder in fence.writable:
        words += ["--bind-try", folder, folder]
    return (*words, "--chdir", fence.cwd, "--")


def behind(launch: Launch, fence: Fence) -> Launch:
    """Return the same launch behind the wall. Environment, stdin and folder stay what they are."""
    return replace(launch, argv=(*prefix(fence), *launch.argv))


def inside(folders: Iterable[str], trees: Iterable[str]) -> tuple[str, ...]:
    """Return those folders that lie in one of the trees, and are not the tree itself."""
    roots = [PurePosixPath(tree) for tree in trees]
    return tuple(folder for folder in folders if any(root in PurePosixPath(folder).parents for root in roots))


def said(lane: Lane, *, walled: bool) -> str:
    """Return the sentence that says how the promise is kept."""
    if walled:
        return f"{lane.vehicle}'s own read-only mode is no wall: it sees the work tree read-only (bubblewrap)."
    return (
        f"{lane.vehicle}'s own read-only mode is no wall, and bubblewrap can't put one around it here: "
        "the work tree is compared before and after, and a change fails the job."
    )
