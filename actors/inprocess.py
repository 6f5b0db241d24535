"""The whole tree inside a command: where no socket or no detached process can be had, or none is wanted.

Same actors, same journal. It looks after the jobs that this command started, and after those it is
asked about that nobody looks after (it takes the state home's lock first). What it leaves running when
it ends is adopted by the next supervisor.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from ..state.home import Home
from ..state.settings import Settings, config_file, read_config
from .assembly import Assembly, assemble
from .redaction import CleanFormatter


class Tree:
    """A tree in this process, behind the interface of a connection."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._closed = False

    def exchange(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield each reply's body, as it would stand in a frame."""
        for reply in self._assembly.dispatcher.exchange(body):
            yield reply.model_dump(mode="json")

    def close(self, reason: str) -> None:
        """Stop the tree: ``shutdown`` leaves delegates running, ``cancel`` ends them. Repeating it is harmless."""
        if self._closed:
            return
        self._closed = True
        self._assembly.stop(reason)
        self._assembly.close()


def open_tree(home: Home, environ: Mapping[str, str]) -> Tree:
    """Start a tree in this process. Raises StateError when the state home or the settings can't be used."""
    home.preflight()
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(CleanFormatter())
    path = config_file(environ)
    settings = Settings.load(environ, read_config(path), source=path)
    return Tree(assemble(home, settings, listener=None, attached=True))
