"""Which MCP servers Droid starts: those that were granted, and no other. Pure. Seen on 0.215.0.

``FACTORY_RUNTIME_SETTINGS_PATH`` names settings of one run, above those of the person. A policy there that allows
nothing keeps every server from being started; without it Droid starts the person's own in any case. The policy tells
servers on this machine apart by their commands and words alone, so that those that were granted get a word of ours in
front (``env NAME=VALUE COMMAND``). Settings that Droid can't read are none to it: the tools are bounded besides.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ..contract import Host, PrivateFile, Task

SETTINGS = "FACTORY_RUNTIME_SETTINGS_PATH"
WANTED = "OSRC_DROID_USER_MCP"
FILE = "droid.json"
GRANTED_FILE = "mcp.json"
CLOSED = json.dumps({"mcpPolicy": {"enabled": True, "allowlist": []}}).encode()
_LEAST = "low"
"""The autonomy that a granted server's tools need: it was granted by a person, whatever the verb is."""


def granted(servers: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Return the settings of a run in which these servers start, and no other."""
    told = json.dumps(servers, sort_keys=True)
    mark = f"OSRC_GRANTED={hashlib.sha256(told.encode()).hexdigest()[:32]}"
    allowed = [mark] if any("url" not in server for server in servers.values()) else []
    allowed += [host for server in servers.values() if (host := _host(server.get("url"))) is not None]
    return json.dumps(
        {
            "mcp": {"mcpServers": {name: _marked(server, mark) for name, server in servers.items()}},
            "mcpPolicy": {"enabled": True, "allowlist": allowed},
            "mcpAutonomyOverrides": {name: {"defaultLevel": _LEAST} for name in servers},
        }
    ).encode()


def settings(host: Host, task: Task | None = None) -> tuple[dict[str, str], tuple[PrivateFile, ...]]:
    """Return the variable that names a run's settings, and their file where nothing was granted."""
    if task is not None and task.servers:
        return {SETTINGS: f"{{job}}/{GRANTED_FILE}"}, ()
    if host.environment.get(WANTED) == "1":
        return {}, ()
    return {SETTINGS: f"{{job}}/{FILE}"}, (PrivateFile(name=FILE, content=CLOSED),)


def tools(names: tuple[str, ...], servers: tuple[str, ...]) -> str:
    """Return the value of ``--only-tools``: Droid's own, and every tool of the granted servers."""
    return ",".join((*names, *(f"MCP:{name}" for name in servers)))


def _marked(server: Mapping[str, Any], mark: str) -> dict[str, Any]:
    if "url" in server:
        return {"type": "http", **server}
    command, words = str(server.get("command", "")), server.get("args")
    kept = [str(word) for word in words] if isinstance(words, list) else []
    return {**server, "type": "stdio", "command": "/usr/bin/env", "args": [mark, command, *kept]}


def _host(url: object) -> str | None:
    try:
        return urlsplit(str(url)).hostname if url is not None else None
    except ValueError:
        return None
