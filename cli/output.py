"""stdout carries the answer and nothing else; everything said to a person goes to stderr."""

from __future__ import annotations

import json
import os
import sys
from _thread import get_ident  # threading takes its from there, and costs a hot path 1 ms
from collections.abc import Callable
from typing import Any

from ..messages.vocabulary import SCHEMA_VERSION
from .cash import written
from .errors import CliError
from .render.plain import strip_controls

_HEARERS: dict[int, Callable[[str], None]] = {}
"""Thread → who hears what is said there, in place of stderr."""


def prepare() -> None:
    """Make the standard streams take any text: what a locale can't show becomes ``?``, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def answer(text: str, *, styled: bool = False, end: str = "\n") -> None:
    """Write a line to stdout, without control sequences unless it is ``styled`` by us.

    Raises BrokenPipeError when nobody reads any more, CliError when it can't be written.
    """
    stdout = sys.stdout
    if stdout is None:
        return
    try:
        stdout.write((text if styled else strip_controls(text)) + end)
    except OSError as error:
        raise _unwritable(error) from None


def answer_json(value: dict[str, Any]) -> None:
    """Write one JSON object to stdout on one line, ``schema_version`` first."""
    answer(json.dumps({"schema_version": SCHEMA_VERSION, **written(value)}, ensure_ascii=True), styled=True)
    flush()


def answer_untrusted(data: bytes) -> None:
    """Write a delegate's words to stdout: unchanged into a pipe, without control sequences on a terminal.

    A final newline is added where there is none.
    """
    stdout = sys.stdout
    if stdout is None:
        return
    if not data.endswith(b"\n"):
        data += b"\n"
    binary = getattr(stdout, "buffer", None)
    if is_terminal(stdout) or binary is None:
        answer(data.decode("utf-8", "replace"), end="")
        flush()
    else:
        answer_bytes(data)


def answer_bytes(data: bytes) -> None:
    """Write bytes to stdout as they are. Raises like ``answer``."""
    flush()
    try:
        if sys.stdout is not None:
            sys.stdout.buffer.write(data)
    except OSError as error:
        raise _unwritable(error) from None
    flush()


def flush() -> None:
    """Flush stdout. Raises like ``answer``."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        raise _unwritable(error) from None


def _unwritable(error: OSError) -> OSError | CliError:
    """Return what a failed write to stdout means: a reader that left, or a sentence."""
    if isinstance(error, BrokenPipeError):
        return error
    return CliError("stdout", f"the answer can't be written to stdout: {error.strerror or error}")


def hear(hearer: Callable[[str], None] | None) -> None:
    """Have what is said in this thread told to ``hearer``, for whom a command's work is done; None: no longer."""
    if hearer is None:
        _HEARERS.pop(get_ident(), None)
    else:
        _HEARERS[get_ident()] = hearer


def say(text: str) -> None:
    """Write a line to stderr, without control sequences; a lost terminal is no reason to fail."""
    if _HEARERS and (hearer := _HEARERS.get(get_ident())) is not None:
        hearer(strip_controls(text))
        return
    stderr = sys.stderr
    if stderr is None:
        return
    try:
        stderr.write(strip_controls(text) + "\n")
        stderr.flush()
    except (OSError, ValueError):
        return


def is_terminal(stream: Any) -> bool:  # noqa: ANN401 - any of the standard streams, which may be None or replaced
    """Whether ``stream`` is a terminal that a live display may be drawn on."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:
        return False


def terminal_width(descriptor: int) -> int:
    """Return the columns of a terminal; 80 where it does not say (a fresh pseudo-terminal says 0)."""
    try:
        return os.get_terminal_size(descriptor).columns or 80
    except OSError:
        return 80


def terminal_height() -> int:
    """Return the lines of the terminal that stdout is; 24 where it does not say."""
    try:
        return os.get_terminal_size(1).lines or 24
    except OSError:
        return 24


def output_width() -> int | None:
    """Return the columns of the terminal that stdout is; None is a pipe, where nothing need be cut."""
    return terminal_width(1) if is_terminal(sys.stdout) else None


def may_colour(stream: Any) -> bool:  # noqa: ANN401 - as above
    """Whether colour is wanted: a terminal, and nothing that says no."""
    return not os.environ.get("NO_COLOR") and is_terminal(stream)
