"""Asking a CLI which MCP servers of the person's it would start, where each must be kept out by its name."""

from __future__ import annotations

import subprocess
from dataclasses import replace

from ..lanes.contract import Host, Lane
from .host import VERSION_LIMIT, run_quick

ASK_S = 20.0
"""Longest wait for that list (Copilot 1.0.102 needs 2 s)."""


def with_own_servers(host: Host, lane: Lane, cwd: str) -> Host:
    """Return ``host`` with what the lane's CLI lists in ``cwd``; None stands in it where no list came."""
    asked = lane.own_servers
    program = host.executables.get(asked.program) if asked is not None else None
    if asked is None or program is None or host.environment.get(asked.wanted) == "1":
        return host
    output, code = run_quick((program, *asked.argv), host.environment, ASK_S, subprocess.DEVNULL, cwd=cwd)
    whole = output is not None and code == 0 and len(output) < VERSION_LIMIT
    return replace(host, own_servers=asked.read(output) if output is not None and whole else None)
