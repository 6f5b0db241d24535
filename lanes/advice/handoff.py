"""What a delegate is told that takes over work from another, whose attempt was cut short."""

from __future__ import annotations

from ..secrets.wording import guarded


def handed_over(task: str, lane: str, why: str, *, guard: bool = True, aggressive: bool = False) -> str:
    """Return the task with a note in front: the folder may hold half of the work.

    ``guard`` and ``aggressive`` are the settings ``vocab_guard*``: the note is ours, so it is in neutral
    words; the task is the person's, and stays as it is.
    """
    note = (
        f"[handoff] An earlier attempt at this task, made by another agent ({lane}), was cut short: {why}. "
        "The folder is as that agent left it, and may hold part of the work. Look at it first (git status and git "
        "diff, where it is a repository), keep what is right, mend what is half done, and finish the task. Do not "
        "assume that anything was done unless you see it."
    )
    return f"{guarded(note, guard=guard, aggressive=aggressive)}\n\n{task}"
