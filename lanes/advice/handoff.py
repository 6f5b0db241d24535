"""What a delegate is told that takes over work from another, whose attempt was cut short."""

from __future__ import annotations


def handed_over(task: str, lane: str, why: str) -> str:
    """Return the task with a note in front: the folder may hold half of the work."""
    return (
        f"[handoff] An earlier attempt at this task, made by another agent ({lane}), was cut short: {why}. "
        "The folder is as that agent left it, and may hold part of the work. Look at it first (git status and git "
        "diff, where it is a repository), keep what is right, mend what is half done, and finish the task. Do not "
        "assume that anything was done unless you see it.\n\n"
        f"{task}"
    )
