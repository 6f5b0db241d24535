"""TERM and HUP as exceptions, so that what a command has begun is ended, or said to go on, before it leaves.

with heard():
    ...        # Ctrl-C: KeyboardInterrupt; TERM: TerminatedError, which is one; HUP: LostTerminalError
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from . import exit_codes


class TerminatedError(KeyboardInterrupt):
    """TERM came. It undoes what Ctrl-C undoes, wherever that is; only the exit code is its own."""

    exit_code = exit_codes.TERMINATED


class LostTerminalError(SystemExit):
    """HUP came. No Exception: nothing on the way may swallow it. What runs elsewhere goes on."""

    def __init__(self) -> None:
        """Leave with the exit code of a lost terminal."""
        super().__init__(exit_codes.HANGUP)


def code_of(stopped: KeyboardInterrupt) -> int:
    """Return the exit code of who was stopped: 143 by TERM, 130 by Ctrl-C."""
    return getattr(stopped, "exit_code", exit_codes.INTERRUPTED)


@contextmanager
def heard() -> Iterator[None]:
    """Turn TERM and HUP into exceptions while the block runs; a signal that the caller ignores stays ignored."""

    def terminated(_number: int, _frame: FrameType | None) -> NoReturn:
        raise TerminatedError

    def hung_up(_number: int, _frame: FrameType | None) -> NoReturn:
        raise LostTerminalError

    wanted = [(signal.SIGTERM, terminated)]
    if hasattr(signal, "SIGHUP"):
        wanted.append((signal.SIGHUP, hung_up))
    before = []
    try:
        for number, handler in wanted:
            if signal.getsignal(number) != signal.SIG_IGN:
                before.append((number, signal.signal(number, handler)))
        yield
    finally:
        for number, old in before:
            signal.signal(number, old)
