"""A job's own git work tree, for its actor: wanted at intake, made before the launch, seen to after the end.

The making and the seeing-to run in threads of their own and are told as messages. ``worktree.json`` in the job's
folder says that the tree was made: from then on it is never made anew, whatever is killed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from ..lanes.contract import Posture
from ..messages.internal import WorktreeMade, WorktreeSettled
from ..messages.job import JobRecord, JobRequest
from ..messages.refusals import RefusalCode, Refused
from ..state.errors import StateError, printable
from ..state.home import Home
from ..state.ids import new_job_id
from ..state.job_folder import TREE, JobFolder
from ..state.settings import Settings
from .base import Handle, log
from .git import GitError
from .tree import in_background
from .worktree_removal import own_tree_of, tree_of_record
from .worktrees import Held, Planned, Worktree, make_worktree, plan_worktree, sentences, settle_worktree

GRACE_S = 900.0
_SANDBOXED = frozenset({Posture.WORKSPACE_WRITE.value, Posture.SANDBOXED.value})
"""Postures whose sandbox is the work tree alone: git's own folder lies outside it, so that a delegate can't commit
(seen: codex 0.171.0)."""


def own_tree(
    request: JobRequest, settings: Settings, home: Home, random: Callable[[int], bytes]
) -> tuple[JobRequest, Planned | None] | Refused:
    """Return the request, with the id that the tree is named by, and the tree; None where none is wanted."""
    wanted = request.worktree
    if request.continues is not None and not wanted:
        return request, _continued(request, home)
    if wanted is None:
        wanted = settings.flag("worktree") and request.verb.may_write
    if not wanted:
        return request, None
    if request.verb.read_only:
        message = f"{request.verb.value} changes nothing: it needs no work tree of its own"
        return Refused(code=RefusalCode.NO_WORKTREE, message=message, hint="leave --worktree out, or: osrc edit ...")
    if request.continues is not None:
        message = "a conversation goes on where its job worked, also in that job's work tree"
        return Refused(code=RefusalCode.NO_WORKTREE, message=message, hint="leave --worktree out")
    job_id = request.job_id or new_job_id(time.time(), random(6))
    planned = plan_worktree(request.cwd, job_id, settings.text("worktree_base") or "HEAD")
    return planned if isinstance(planned, Refused) else (request.model_copy(update={"job_id": job_id}), planned)


def _continued(request: JobRequest, home: Home) -> Planned | None:
    """Return the tree of the job whose conversation goes on, if it has one and worked in it."""
    before = JobFolder(home.job_dir(request.continues or "")).read_meta()
    tree = tree_of_record(before) if before is not None else None
    if tree is None or before is None or before.cwd != request.cwd:
        return None
    return Planned(tree=tree, cwd=request.cwd, notices=(f"goes on in the work tree of {tree.branch}",))


def ensure_tree(record: JobRecord, folder: JobFolder) -> str | None:
    """Make a job's tree if it was not made yet; return why it is not there. Blocks."""
    tree = tree_of_record(record)
    if tree is None:
        return f"its record names no work tree of ours: {printable(record.worktree or '')}"
    try:
        known = (folder.read_json(TREE) or {}).get("ready") is True or folder.last_attempt() > 0
        if known or own_tree_of(record) is None:
            return None if os.path.isdir(tree.path) else f"{printable(tree.path)} was removed"  # noqa: PTH112  a look
        make_worktree(tree, record.windows.get("setup_grace", GRACE_S) or GRACE_S)
        _keep(folder, tree, None)
    except GitError as error:
        return str(error)
    except StateError as error:
        return error.message
    return None


def make_tree(record: JobRecord, folder: JobFolder, attempt: int, to: Handle) -> None:
    """Make the tree in the background; tells ``WorktreeMade``."""
    in_background(
        f"worktree:{record.job_id}",
        to,
        lambda: WorktreeMade(attempt=attempt, why=ensure_tree(record, folder)),
        otherwise=WorktreeMade(attempt=attempt, why="a fault of ours: osrc supervisor logs shows it"),
    )


def settle_tree(record: JobRecord, folder: JobFolder, to: Handle) -> None:
    """See to what the delegate left, in the background; tells ``WorktreeSettled``."""
    in_background(
        f"settle:{record.job_id}",
        to,
        lambda: _settled(record, folder),
        otherwise=WorktreeSettled(sentences=("its work tree could not be seen to",)),
    )


def _settled(record: JobRecord, folder: JobFolder) -> WorktreeSettled:
    tree = tree_of_record(record)
    if tree is None:
        return WorktreeSettled()
    held = settle_worktree(tree, _message(record))
    try:
        _keep(folder, tree, held)
    except StateError as error:
        log.warning("%s: %s can't be kept: %s", record.job_id, TREE, error)
    return WorktreeSettled(sentences=tuple(sentences(tree, held)))


def settle_lap(record: JobRecord, owner: JobFolder) -> str | None:
    """See to what a job left in the tree of another one, whose folder this is; return what there is to say. Blocks."""
    before = owner.read_meta()
    tree = tree_of_record(before) if before is not None else None
    return None if tree is None else "; ".join(sentences(tree, settle_worktree(tree, _message(record))))


def _message(record: JobRecord) -> str | None:
    """Return the message of a commit of ours: whose work it is. None: its delegate can commit by itself."""
    if record.posture not in _SANDBOXED:
        return None
    what = record.label or f"{record.verb.value} by {record.lane}"
    model = record.model_observed or record.model or "its own default"
    trailers = f"Outsourcerer-Job: {record.job_id}\nOutsourcerer-Lane: {record.lane}\nOutsourcerer-Model: {model}"
    return f"{record.job_id}: {what}\n\n{trailers}\n"


def _keep(folder: JobFolder, tree: Worktree, held: Held | None) -> None:
    said = {"ready": True, "path": tree.path, "branch": tree.branch, "base_sha": tree.base}
    if held is not None:
        dirty = None if held.ahead is None else bool(held.dirty)
        said |= {"head_sha": held.head, "ahead": held.ahead, "dirty": dirty}
    folder.write_json(TREE, said)
