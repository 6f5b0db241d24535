"""Slow work on one job's process tree, in threads of its own; the answers come to the job's actor as messages."""

from __future__ import annotations

from dataclasses import dataclass

from ..messages.internal import TreeEnded, TreeLooked
from ..messages.job import JobRecord
from ..state.identity import boot_id
from ..state.job_machine import Now
from ..state.watchdog import Policy, Watch
from .base import Handle
from .tree import end_tree, in_background, look_at_tree

NOTHING_SEEN = TreeLooked(files=False, busy=False, cpu_s=0.0)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the last close look saw of processor time."""

    cpu_s: float = -1.0
    """Processor seconds of the tree; -1 before the first look."""
    at: float = 0.0
    """Monotonic seconds."""


def end_in_background(to: Handle, record: JobRecord, grace_s: float) -> None:
    """End a job's processes; ``tree.ended`` says what stayed."""
    in_background(
        f"end:{record.job_id}",
        to,
        lambda: TreeEnded(survivors=end_tree(record.job_id, record.delegate, record.shim, grace_s)),
        otherwise=TreeEnded(),
    )


def look_in_background(to: Handle, record: JobRecord, policy: Policy, watch: Watch, seen: Seen, now: Now) -> None:  # noqa: PLR0913, PLR0917  what a look depends on
    """Look closely at files and processor time; ``tree.looked`` says what was found."""
    delegate = record.delegate
    if delegate is None or delegate.boot_id != boot_id():
        to.tell(NOTHING_SEEN)
        return
    since = now.wall - max(watch.silent_s, 0.0 if watch.wrote else watch.age_s)
    in_background(
        f"look:{record.job_id}",
        to,
        lambda: look_at_tree(
            job_id=record.job_id,
            delegate=delegate,
            shim=record.shim,
            cwd=record.cwd,
            since=since,
            depth=policy.look_depth,
            look_files=policy.look_files,
            cpu_before_s=seen.cpu_s,
            over_s=now.mono - seen.at,
        ),
        otherwise=NOTHING_SEEN,
    )
