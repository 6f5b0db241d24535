"""The secret values of work that an earlier supervisor began: known again, so that they are still taken out.

They are kept nowhere. What a delegate was given stands in its launch as long as that waits, and in the environment of
its process while it runs; a lane's keys are looked for again where they were found at first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from ..lanes.contract import Lane
from ..state.errors import StateError
from ..state.job_folder import LAUNCH
from .redaction import named_so, remember
from .secrets import named_secrets


class Kept(Protocol):
    """A job's or a session's folder."""

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Return a JSON object; None when there is none."""


def recall(folder: Kept, lane: Lane, pid: int | None, environment: Mapping[str, str] = os.environ) -> None:
    """Look for the values from now on that this delegate was given, as far as they can be found."""
    values = [*named_secrets(lane.secrets, environment).values(), *named_so(environment)]
    for given in (_in_launch(folder), environment_of(pid) if pid is not None else {}):
        values += [*(given[name] for name in lane.secrets if given.get(name)), *named_so(given)]
    remember(values)


def _in_launch(folder: Kept) -> Mapping[str, str]:
    try:
        given = (folder.read_json(LAUNCH) or {}).get("env")
    except (StateError, ValueError):
        return {}
    return {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}


def environment_of(pid: int) -> Mapping[str, str]:
    """Return a process's environment as it was started with; nothing where the system does not tell."""
    if sys.platform != "linux":
        import psutil  # noqa: PLC0415  where there is no /proc

        try:
            return dict(psutil.Process(pid).environ())
        except (psutil.Error, OSError, ValueError):
            return {}
    try:
        block = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (item.partition(b"=") for item in block.split(b"\0"))
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs if name}
