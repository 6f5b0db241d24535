"""Asking the CLIs themselves which models they have: only when a person asks for it (``osrc models --refresh``)."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping

from ..lanes.catalog.live import Live, dump_live
from ..lanes.contract import Lane
from ..state.files import write_private
from .host import run_quick
from .model_book import ModelBook

ASK_S = 30.0


def refresh_live(
    book: ModelBook,
    lanes: Iterable[Lane],
    environment: Mapping[str, str],
    *,
    timeout_s: float = ASK_S,
    now: Callable[[], float] = time.time,
) -> list[str]:
    """Ask each CLI that is here, and keep what it lists; return a sentence for each that gave no list.

    What was kept of one that gives none stays. Raises StateError.
    """
    found, problems = dict(book.live_lists()), []
    for lane in lanes:
        if lane.listing is None:
            continue
        program = shutil.which(lane.listing.program, path=environment.get("PATH", os.defpath))
        if program is None:
            continue
        models = lane.listing.read(_ask((program, *lane.listing.argv), environment, timeout_s))
        if models:
            found[lane.name] = Live(lane.listing.program, models, now())
        else:
            problems.append(f"{lane.listing.program} gave no list of its models; what it listed before is kept.")
    if found:
        write_private(book.live_path, dump_live(found))
    return problems


def _ask(argv: tuple[str, ...], environment: Mapping[str, str], timeout_s: float) -> bytes:
    with tempfile.TemporaryDirectory(prefix="osrc-models-", ignore_cleanup_errors=True) as folder:
        output, _code = run_quick(argv, environment, timeout_s, subprocess.STDOUT, cwd=folder)
    return output or b""
