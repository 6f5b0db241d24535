"""The task argument: one argument, ``-`` for stdin, or a file; checked before anything is created."""

from __future__ import annotations

import os
import re
import sys

import click

from . import exit_codes
from .errors import CliError

TASK_LIMIT = 64 * 1024 * 1024
"""Longest task in bytes. Real ones are far below; ``/dev/zero`` is not."""

INLINE_LIMIT = 1024 * 1024
"""Longest task in bytes that rides in the request itself; a longer one is spooled into the state home."""

_VARIABLE = r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})"


def read_task(words: tuple[str, ...], task_file: str | None) -> str:
    """Return the task that the command line names.

    Raises click.UsageError for a wrong number of words, CliError for a text that is no task.
    """
    if task_file is not None:
        if words:
            raise click.UsageError("Give the task or --task-file, not both.")
        return checked(_read_file(task_file), f"the task file {task_file}")
    if not words:
        raise click.UsageError("No task. Give it as one argument in quotes, as - for stdin, or with --task-file F.")
    if len(words) > 1:
        raise click.UsageError(f'The task is one argument: put it in quotes, "{" ".join(words)[:60]}". {_extra(words)}')
    if words[0] == "-":
        return checked(_read_stdin(), "the task on stdin")
    try:
        return checked(os.fsencode(words[0]), "the task")
    except CliError as error:  # on the command line it is a bad word
        raise CliError(error.code, error.message, error.hint, exit_codes.USAGE) from None


def _extra(words: tuple[str, ...]) -> str:
    return f"({len(words)} arguments were given.)"


def checked(data: bytes, what: str) -> str:
    """Return ``data`` as the text of a task. Raises CliError where it can't be one."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CliError(
            "bad_task",
            f"{what} is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}",
            "convert it: iconv -f latin1 -t utf-8",
        ) from None
    if "\0" in text:
        raise CliError("bad_task", f"{what} holds a NUL byte at offset {data.index(0)}")
    if not text.strip():
        raise CliError("bad_task", f"{what} is empty", 'say what to do: osrc run "..."')
    if text.lstrip().startswith("$") and re.fullmatch(_VARIABLE, text.strip(), re.ASCII):
        raise CliError(
            "bad_task",
            f"{what} is only {text.strip()}: a shell variable that was not expanded",
            "use double quotes, and check that the variable is set",
        )
    return text


def _read_file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs 3 ms at start-up
            data = file.read(TASK_LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CliError("bad_task", f"can't read the task file {path}: {reason}") from None
    return _bounded(data, f"the task file {path}")


def _read_stdin() -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise CliError("bad_task", "the task is -, but there is no stdin")
    if sys.stdin.isatty():
        sys.stderr.write("Type the task, then Ctrl-D.\n")
    try:
        data = sys.stdin.buffer.read(TASK_LIMIT + 1)
    except OSError as error:
        raise CliError("bad_task", f"can't read the task from stdin: {error.strerror}") from None
    return _bounded(data, "the task on stdin")


def _bounded(data: bytes, what: str) -> bytes:
    if len(data) > TASK_LIMIT:
        raise CliError("bad_task", f"{what} is longer than {TASK_LIMIT >> 20} MiB")
    return data
