"""The agent's process: started with pipes, its stderr passed on, ended with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Sequence

from ...lanes.framing import clean_line
from ...messages.job import Identity
from ...state.identity import identify
from ..tree import JOB_VARIABLE, end_tree
from ..windows_argv import batch_words, is_batch

LEAVE_S = 2.0
"""How long an agent may take to leave once its stdin is closed. Two of nine never do (seen 2026-11-30)."""
GRACE_S = 1.0
"""And then between TERM and KILL."""
ERR_TAIL = 2048


class AgentMissingError(Exception):
    """The agent's program can't be started."""


async def _started(command: Sequence[str]) -> asyncio.subprocess.Process:
    """Start it with pipes. Raises OSError, ValueError."""
    pipe = asyncio.subprocess.PIPE
    if sys.platform == "win32" and is_batch(command[0]):
        # asyncio quotes words as a C program reads them; a batch file's are read by the command processor before.
        return await asyncio.create_subprocess_shell(batch_words(command), stdin=pipe, stdout=pipe, stderr=pipe)
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)


class Agent:
    """One running agent."""

    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        """Keep the process; ``start`` makes it."""
        self.process = process
        self.name = name
        self._tail = b""
        self.written = 0
        """Bytes that it has written to stderr."""
        found = identify(process.pid)
        self._identity = Identity.model_validate(found) if found is not None else None
        self._copying = asyncio.ensure_future(self._copy_err())

    @classmethod
    async def start(cls, command: Sequence[str]) -> Agent:
        """Start the agent in this folder and environment. Raises AgentMissingError."""
        try:
            process = await _started(command)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise AgentMissingError(f"{command[0]} can't be started: {reason}") from None
        return cls(process, os.path.basename(command[0]))  # noqa: PTH119 - a name, not a path

    async def last_words(self) -> str:
        """Return the end of its stderr, once the process has had a moment to end."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), 1.0)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._copying), 0.5)
        return self._tail.decode("utf-8", "replace").strip()

    def said_since(self, place: int) -> list[str]:
        """Return the lines of stderr since so many bytes, as far as they are still here."""
        new = min(self.written - place, len(self._tail))
        return [clean_line(line) for line in self._tail[len(self._tail) - new :].splitlines()] if new else []

    async def end(self) -> None:
        """Wait a little for it to leave by itself, then end its whole tree."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), LEAVE_S)
        # Without a job's id nothing that escaped can be told from a stranger: a value that nobody bears.
        job = os.environ.get(JOB_VARIABLE) or f"none-{os.getpid()}"
        await asyncio.to_thread(end_tree, job, self._identity, None, GRACE_S)
        self._copying.cancel()

    async def _copy_err(self) -> None:
        reader = self.process.stderr
        while reader is not None and (chunk := await reader.read(1 << 16)):
            self._tail = (self._tail + chunk)[-ERR_TAIL:]
            self.written += len(chunk)
            with contextlib.suppress(OSError):
                os.write(2, chunk)
