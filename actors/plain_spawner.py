"""Starting shims where nothing can be forked: a process each, which costs an interpreter's start per job."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from . import plain_process
from .gate import Passed
from .spawner import Spawner, SpawnError, Spawning


def spawner_for(how: str | None, fifo: Path, heard: Callable[[bytes], None]) -> Spawning:
    """Return what starts shims here: ``fork``, ``plain``, or (None) fork where there is one.

    ``heard`` takes the hints that plain shims give; forked ones write them to ``fifo``.
    """
    plain = how == "plain" or not hasattr(os, "fork")
    return PlainSpawner(heard) if plain else Spawner(fifo)


class PlainSpawner:
    """Starts shims. Safe to use from any thread."""

    def __init__(self, heard: Callable[[bytes], None]) -> None:
        """Pass each line that a shim says on to ``heard``, from a thread of the shim's own."""
        self._heard = heard

    def spawn(self, folder: Path, attempt: int, permit: Passed) -> None:
        """Start the shim of one attempt, by the gate's permit for it.

        Raises SpawnError when no process can be had, PermissionError for a permit that is another's.
        """
        permit.demand(folder.name, attempt)
        try:
            process = plain_process.begin("shim", os.fspath(folder), str(attempt), stdout=subprocess.PIPE)
        except OSError as error:
            raise SpawnError(f"no process can be started for the job: {error.strerror}") from None
        plain_process.listen(process, self._heard)

    def suspect(self, asked_at: float) -> None:
        """Nothing is shared between two shims: one that did nothing says nothing of the next."""

    def close(self) -> None:
        """Nothing is kept. Shims live on."""
