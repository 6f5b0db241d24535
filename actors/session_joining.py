"""A holder that takes over a program whose own holder died: only where its terminal is a server's (tmux).

What a holder needs to know is kept with the session, without secrets: the program has its environment already.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from ..state.errors import StateError
from ..state.identity import look
from ..state.session_folder import EVENTS, LAUNCH, HolderRecord, SessionFolder
from .kept_request import without_secrets

JOIN = "join.json"
EVENTS_LIMIT = 64 * 1024 * 1024


def keep_join(folder: SessionFolder, launch: Mapping[str, Any]) -> None:
    """Keep what a later holder must know of a launch. Raises StateError."""
    options = {**launch["options"], "join": "1"}
    folder.write_json(JOIN, {**launch, "env": without_secrets(launch["env"]), "options": options, "not_before": 0.0})


def write_join(folder: SessionFolder, attempt: int, random: Callable[[int], bytes] = os.urandom) -> None:
    """Write the launch of a holder that joins. Raises StateError where nothing was kept."""
    kept = folder.read_json(JOIN)
    if kept is None:
        raise StateError("state_damaged", f"{JOIN} is gone", "start another session")
    first = max(int(kept.get("first") or 1), reached(folder) + 1)
    folder.write_json(LAUNCH, {**kept, "attempt": attempt, "first": first, "token": random(16).hex()})


def reached(folder: SessionFolder) -> int:
    """Return the newest inbox entry that may have reached the program: none of these is ever given again."""
    newest = 0
    try:
        with (folder.path / EVENTS).open("rb") as file:
            for line in file.read(EVENTS_LIMIT).splitlines():
                if b'"delivery"' not in line:
                    continue
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if (
                    isinstance(event, dict)
                    and event.get("state") != "accepted"
                    and isinstance(event.get("number"), int)
                ):
                    newest = max(newest, event["number"])
    except OSError:
        return newest
    return newest


def still_runs(holder: HolderRecord | None) -> bool:
    """Whether the program of a holder runs, with or without it."""
    delegate = holder.delegate if holder is not None else None
    return delegate is not None and look(delegate.pid, delegate.started, delegate.boot_id) in ("running", "stopped")
