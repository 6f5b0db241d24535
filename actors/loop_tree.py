"""A loop's work tree before its first lap has one: the same commit, for the check that is run before all work.

It lies where the first lap's own will lie, and is gone before that is made. Blocks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..messages.loop import LoopRecord
from ..messages.refusals import Refused
from ..state.settings import Settings
from .base import log
from .git import GitError
from .worktree_removal import remove_worktree
from .worktrees import make_worktree, plan_worktree

MAKE_S = 900.0


@contextlib.contextmanager
def fresh_tree(record: LoopRecord, settings: Settings, *, make: bool = True) -> Iterator[str]:
    """Yield the folder in a tree that nobody has worked in. Raises GitError where there can't be one.

    Without ``make`` it is there already: something of an earlier try still runs in it.
    """
    planned = plan_worktree(record.cwd, record.first_job or record.loop_id, settings.text("worktree_base") or "HEAD")
    if isinstance(planned, Refused):
        raise GitError(planned.message)
    if make:
        make_worktree(planned.tree, MAKE_S)
    try:
        yield planned.cwd
    finally:
        try:
            remove_worktree(planned.tree)
        except (GitError, OSError) as error:  # the first lap makes its own anew
            log.warning("%s: the tree of its first check is left: %s", record.loop_id, error)
