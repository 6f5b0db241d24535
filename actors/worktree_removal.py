"""Taking a job's work tree away: what would be lost with it, and removing it and its branch and nothing else."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

from ..messages.job import JobRecord
from ..state.errors import printable
from ..state.ids import is_job_id
from .git import GitError, ask_git, git
from .worktrees import BRANCHES, PLACE, Worktree, admin_of, forget_worktree, locked, look_into, named

LOCK_S = 30.0
REMOVE_S = 300.0
"""How long it may take to remove a large tree."""


def tree_of_record(record: JobRecord) -> Worktree | None:
    """Return the tree that a job works in: its own, or that of the job whose conversation it goes on with.

    None where it has none, or names one that is no place of ours.
    """
    path, branch, base = record.worktree, record.branch, record.base
    if path is None or branch is None or base is None:
        return None
    owner = branch.removeprefix(BRANCHES)
    ours = branch.startswith(BRANCHES) and is_job_id(owner) and path.endswith(f"/{PLACE}/{owner}")
    return Worktree(path=path, branch=branch, base=base) if ours else None


def own_tree_of(record: JobRecord) -> Worktree | None:
    """Return the tree that was made for this very job, and goes with it."""
    return tree_of_record(record) if record.branch == BRANCHES + record.job_id else None


def would_be_lost(tree: Worktree) -> str | None:
    """Return what removing a tree would lose, in words; None when nothing. What can't be seen counts as lost."""
    try:
        return _lost(tree)
    except (GitError, OSError, ValueError) as error:
        return f"what is in its work tree can't be seen: {error}"


def _lost(tree: Worktree) -> str | None:
    if not Path(tree.root).is_dir():
        return f"{printable(tree.root)} is not there: what became of its work tree can't be seen"
    there = os.path.lexists(tree.path)
    tips = [_tip(tree.root, f"refs/heads/{tree.branch}")]
    if there:
        held = look_into(tree) if tips[0] else None
        if held is not None and held.dirty:
            return f"uncommitted work in {printable(tree.path)}: {named(held.dirty)}"
        tips.append(ask_git(tree.root, (f"--git-dir={admin_of(tree)}", "rev-parse", "--verify", "HEAD")).text or None)
    for tip in dict.fromkeys(tip for tip in tips if tip):
        if not _is_merged(tree, tip):
            count = git(tree.root, "rev-list", "--count", f"{tree.base}..{tip}").text
            return f"{count} commit{'s' * (count != '1')} on {tree.branch} that no other branch has"
    return None


def remove_worktree(tree: Worktree) -> list[str]:
    """Remove a tree and its branch, whatever is in them; return what was kept, and why.

    Only this very path and this very branch. Raises GitError; then the call can be repeated.
    """
    if not Path(tree.root).is_dir():
        return []
    with locked(tree.root, time.monotonic() + LOCK_S):
        if os.path.lexists(tree.path):
            ask_git(tree.root, ("worktree", "remove", "--force", "--force", tree.path), timeout_s=REMOVE_S)
        if os.path.lexists(tree.path):
            _remove_by_hand(tree)
        else:
            forget_worktree(tree)
        if _tip(tree.root, f"refs/heads/{tree.branch}") is None:
            return []
        gone = ask_git(tree.root, ("branch", "--quiet", "-D", tree.branch))
        return [] if gone.code == 0 else [f"the branch {tree.branch} was kept: {gone.complaint}"]


def size_of(folder: str) -> int:
    """Return the bytes that a folder takes on the disk; links are not followed, what vanishes counts as nothing."""
    total, waiting = 0, [folder]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    seen = entry.stat(follow_symlinks=False)
                    total += getattr(seen, "st_blocks", 0) * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return total


def _is_merged(tree: Worktree, tip: str) -> bool:
    """Whether what a commit brings is elsewhere too: as it is, or as its changes (squashed, picked)."""
    if tip == tree.base:
        return True
    refs = git(tree.root, "for-each-ref", f"--contains={tip}", "--format=%(refname)").text.splitlines()
    if any(ref != f"refs/heads/{tree.branch}" for ref in refs):
        return True
    head = ask_git(tree.root, ("rev-parse", "--verify", "--quiet", "HEAD"))
    if head.code != 0:
        return False
    if ask_git(tree.root, ("merge-base", "--is-ancestor", tip, head.text)).code == 0:
        return True
    merged = ask_git(tree.root, ("merge-tree", "--write-tree", head.text, tip))
    return merged.code == 0 and merged.text == git(tree.root, "rev-parse", f"{head.text}^{{tree}}").text


def _tip(root: str, ref: str) -> str | None:
    found = ask_git(root, ("rev-parse", "--verify", "--quiet", ref))
    return found.text if found.code == 0 else None


def _remove_by_hand(tree: Worktree) -> None:
    """Remove what git would not: a tree whose own ``.git`` was damaged, or that git knows nothing of."""
    try:
        shutil.rmtree(tree.path)
    except OSError as error:
        raise GitError(f"{printable(tree.path)} can't be removed: {error.strerror}") from None
    forget_worktree(tree)
