"""Running a blocking question for a tool: in a thread, its trouble as one sentence with the command that helps."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from typing import TypeVar

import anyio
import click
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from ..discreet import discreet
from ..errors import CliError, from_exception

T = TypeVar("T")

MOST_S = 50.0
"""Longest wait of one call, in seconds. Hosts give a tool 60 s where nobody says otherwise (Codex, the SDKs)."""

POLL_S = 0.3
TELL_S = 2.0
"""How often a host hears that a call goes on."""


async def ask(function: Callable[..., T], *arguments: object, **named: object) -> T:
    """Return what ``function`` returns, run in a thread. Raises ToolError: a sentence, and what helps.

    A host that gives the call up leaves the thread to its end; nothing waits longer than ``MOST_S``.
    """
    try:
        return await anyio.to_thread.run_sync(functools.partial(function, *arguments, **named), abandon_on_cancel=True)
    except Exception as error:
        raise failed(error) from error


def failed(error: Exception) -> ToolError:
    """Return the failure of a tool that ``error`` is."""
    return ToolError(sentence(error))


def sentence(error: Exception) -> str:
    """Return what a host is told of a failure. A fault of ours is logged whole (stderr), and said as one."""
    known = error if isinstance(error, CliError) else from_exception(error)
    if isinstance(error, click.ClickException):
        known = CliError("usage", error.format_message())
    if known is None:
        logging.getLogger("outsourcerer").error("a tool failed", exc_info=error)
        what = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        known = CliError("internal", f"a fault of osrc itself: {what}", "osrc doctor")
    hint = f" What helps: {known.hint}" if known.hint else ""
    return discreet(f"{known.message} ({known.code}).{hint}")


def bound(seconds: float) -> float:
    """Return how long a call may wait: what was asked for, within what hosts allow.

    >>> bound(600), bound(-1), bound(float("nan"))
    (50.0, 0.0, 0.0)
    """
    return min(seconds, MOST_S) if seconds > 0 else 0.0


class Telling:
    """Progress of one call, told to the host now and then, so that it neither worries nor gives up."""

    def __init__(self, context: Context, seconds: float) -> None:
        """``seconds``: how long the call may take."""
        self._context, self._total = context, seconds
        self._began = time.monotonic()
        self._told = 0.0
        self._last = ""

    async def tell(self, words: str) -> None:
        """Say how it stands: at once where that changed, else now and then."""
        elapsed = time.monotonic() - self._began
        if words != self._last or elapsed - self._told >= TELL_S:
            self._last, self._told = words, elapsed
            await self._context.report_progress(round(elapsed, 1), self._total, words)
