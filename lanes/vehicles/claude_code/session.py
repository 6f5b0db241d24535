"""The words that make ``claude -p`` a session which asks over its own protocol (``control.py``). Pure."""

from __future__ import annotations

from ...contract import SessionTask
from .argv import EFFORTS, NO_HOOKS

NATIVE = (
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--replay-user-messages",
    "--permission-mode",
    "manual",
    "--permission-prompt-tool",
    "stdio",
)
"""``manual``: in its own default, ``auto``, a model decides what may run (2.1.332). Hooks of the folder's own
settings would run unasked, as headless: they are switched off."""


def native_argv(task: SessionTask) -> tuple[str, ...]:
    """Return everything behind the program's name but what says whose servers it may use."""
    argv = [*NATIVE, "--settings", NO_HOOKS]
    if task.conversation is not None:
        argv += ["-r", task.conversation]
    if task.model is not None:
        argv += ["--model", task.model]
    if task.effort is not None:
        argv += ["--effort", EFFORTS[task.effort]]
    return tuple(argv)
