"""stdout carries the answer and nothing else; everything said to a person goes to stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from ..messages.vocabulary import SCHEMA_VERSION
from .render.plain import strip_controls


def prepare() -> None:
    """Make the standard streams take any text: what a locale can't show becomes ``?``, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def answer(text: str) -> None:
    """Write a line to stdout. Raises BrokenPipeError when nobody reads any more."""
    stdout = sys.stdout
    if stdout is None:
        return
    stdout.write(text + "\n")


def answer_json(value: dict[str, Any]) -> None:
    """Write one JSON object to stdout on one line, ``schema_version`` first."""
    answer(json.dumps({"schema_version": SCHEMA_VERSION, **value}, ensure_ascii=True))
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
        stdout.write(strip_controls(data.decode("utf-8", "replace")))
    else:
        stdout.flush()
        binary.write(data)
    flush()


def flush() -> None:
    """Flush stdout. Raises BrokenPipeError when nobody reads any more."""
    if sys.stdout is not None:
        sys.stdout.flush()


def say(text: str) -> None:
    """Write a line to stderr; a lost terminal is no reason to fail."""
    stderr = sys.stderr
    if stderr is None:
        return
    try:
        stderr.write(text + "\n")
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


def may_colour(stream: Any) -> bool:  # noqa: ANN401 - as above
    """Whether colour is wanted: a terminal, and nothing that says no."""
    return not os.environ.get("NO_COLOR") and is_terminal(stream)
