"""How deep in delegates this server stands, also where its host hands on no environment (Codex passes a few names)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, MutableMapping

NAMES = ("OUTSOURCERER_DEPTH", "OSRC_DEPTH")
"""As ``actors.depth`` reads them."""

FURTHEST = 32


def inherit_depth(environ: MutableMapping[str, str], ancestors: Iterable[Mapping[str, str]]) -> None:
    """Put the depth that the nearest of ``ancestors`` has into ``environ``, where that has none of its own.

    Else a delegate with this server among its tools could delegate again, and so on without end.
    """
    if any(environ.get(name) for name in NAMES):
        return
    for environment in ancestors:
        for name in NAMES:
            if environment.get(name):
                environ[name] = environment[name]
                return


def ancestors() -> Iterator[dict[str, str]]:
    """Yield the environments that this process's ancestors began with, nearest first; a hidden one is empty."""
    import psutil  # noqa: PLC0415 - beside its only use

    try:
        found = psutil.Process(os.getpid()).parents()[:FURTHEST]
    except psutil.Error:
        return
    for one in found:
        try:
            yield one.environ()
        except (psutil.Error, OSError):
            yield {}
