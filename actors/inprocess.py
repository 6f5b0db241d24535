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
from .lock import HomeLock
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


def end_all(home: Home, environ: Mapping[str, str]) -> bool:
    """Adopt everything that the records name and nobody looks after, and end it. Blocks, up to two minutes.

    False: another process holds the state home, and nothing was done. What waits for its turn goes on waiting.
    Raises StateError when the state home or the settings can't be used.
    """
    home.preflight()
    lock = HomeLock(home)
    if not lock.take():
        return False
    try:
        settings = _begin(environ)
        tree = Tree(assemble(home, settings, listener=None, attached=True, lock=lock, ending=True))
        tree.close("cancel")
    finally:
        lock.release()
    return True


def open_tree(home: Home, environ: Mapping[str, str]) -> Tree:
    """Start a tree in this process. Raises StateError when the state home or the settings can't be used."""
    home.preflight()
    return Tree(assemble(home, _begin(environ), listener=None, attached=True))


def _begin(environ: Mapping[str, str]) -> Settings:
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(CleanFormatter())
    path = config_file(environ)
    return Settings.load(environ, read_config(path), source=path)
